@testable import EmbeddedPostgres
import Foundation
import Testing

@Suite struct ServerProgramsTests {
    private func withInstallations(_ versions: [String], _ body: (String) throws -> Void) throws {
        let root = "/tmp/transferd-programs-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: root) }
        for version in versions {
            let directory = "\(root)/\(version)/bin"
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true
            )
            for name in ["initdb", "pg_ctl", "postgres"] {
                let file = "\(directory)/\(name)"
                try Data().write(to: URL(filePath: file))
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o755],
                    ofItemAtPath: file
                )
            }
        }
        try body(root)
    }

    @Test func newClusterGetsTheHighestVersion() throws {
        try withInstallations(["9", "15", "17"]) { root in
            let found = try ServerPrograms.find(for: nil, path: "/nonexistent", root: root)
            #expect(found.directory == "\(root)/17/bin")
        }
    }

    @Test func clusterKeepsItsVersion() throws {
        try withInstallations(["15", "17"]) { root in
            let found = try ServerPrograms.find(for: "15", path: "", root: root)
            #expect(found.directory == "\(root)/15/bin")
            #expect(
                throws: EmbeddedPostgresError.versionMismatch(
                    cluster: "16",
                    installed: ["17", "15"]
                )
            ) {
                try ServerPrograms.find(for: "16", path: "", root: root)
            }
        }
    }

    @Test func pathComesFirst() throws {
        try withInstallations(["15", "17"]) { root in
            let found = try ServerPrograms.find(
                for: nil,
                path: "/usr/nowhere:\(root)/15/bin",
                root: root
            )
            #expect(found.version == "15")
        }
    }

    @Test func missingServerNamesTheLineThatInstallsIt() throws {
        let failure = #expect(throws: EmbeddedPostgresError.self) {
            try ServerPrograms.find(for: nil, path: "/nonexistent", root: "/nonexistent")
        }
        #expect(failure?.description.contains("apt-get install postgresql") == true)
    }
}

@Suite struct ClusterSettingsTests {
    @Test func socketAndNetworkCannotBeOverridden() {
        let text = ClusterSettings(
            overrides: ["listen_addresses": "*", "jit": "on", "note": "it's"],
            socketDirectory: "/run/x"
        ).text
        #expect(text.contains("listen_addresses = ''\n"))
        #expect(text.contains("unix_socket_permissions = '0700'\n"))
        #expect(text.contains("jit = 'on'\n"))
        #expect(text.contains("note = 'it''s'\n"))
    }

    @Test func whatTheServerAcceptsIsUsedUnlessTheCallerWantsOtherwise() {
        var settings = ClusterSettings(overrides: ["jit": "on"], socketDirectory: "/run/x")
        #expect(settings.text.contains("wal_compression = 'on'\n"))
        settings.prefer("lz4", for: "wal_compression")
        settings.prefer("off", for: "jit")
        #expect(settings.text.contains("wal_compression = 'lz4'\n"))
        #expect(settings.text.contains("jit = 'on'\n"))
    }

    @Test func defaultsAreDurable() {
        let settings = ClusterSettings(overrides: [:], socketDirectory: "/run/x")
        #expect(settings.isDurable)
        #expect(settings.text.contains("synchronous_commit = 'on'\n"))
    }

    @Test func socketPathFitsOrMovesToAShortDirectory() {
        let short = ClusterLayout(directory: "/var/lib/transferd")
        #expect(short.socketDirectory == "/var/lib/transferd/run")
        let long = ClusterLayout(directory: "/" + String(repeating: "d", count: 90))
        #expect(long.socketDirectory.hasPrefix("/tmp/transferd-"))
        #expect(
            long.socketDirectory != ClusterLayout(directory: long.directory + "e").socketDirectory
        )
    }
}

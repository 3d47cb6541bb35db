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

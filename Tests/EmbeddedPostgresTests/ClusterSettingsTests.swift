import Testing

@testable import EmbeddedPostgres

@Suite struct ClusterSettingsTests {
    private static func text(memoryBytes: Int64, _ overrides: [String: String] = [:]) -> String {
        var settings = ClusterSettings(overrides: overrides, socketDirectory: "/run")
        settings.fit(memoryBytes: memoryBytes)
        return settings.text
    }

    @Test(arguments: [(256, 32, 8), (512, 64, 16), (1024, 128, 32), (64, 32, 8)])
    func littleMemoryHasSmallBuffers(memory: Int, buffers: Int, vacuum: Int) {
        let text = Self.text(memoryBytes: Int64(memory) << 20)
        #expect(text.contains("shared_buffers = '\(buffers)MB'\n"), "\(text)")
        #expect(text.contains("maintenance_work_mem = '\(vacuum)MB'\n"), "\(text)")
    }

    /// Each keeps the plans of all statements.
    @Test(arguments: [(256, 2), (512, 2), (768, 3), (1024, 4), (1536, 6), (2048, 8)])
    func littleMemoryBearsFewConnections(memory: Int, connections: Int) {
        let bytes = Int64(memory) << 20
        #expect(ClusterSettings.connectionsMax(memoryBytes: bytes) == connections)
    }

    @Test func muchMemoryChangesNothing() {
        let text = ClusterSettings(overrides: [:], socketDirectory: "/run").text
        #expect(text.contains("shared_buffers = '256MB'\n"))
        for bytes: Int64 in [2 << 30, 64 << 30] { #expect(Self.text(memoryBytes: bytes) == text) }
    }

    @Test func whatTheCallerHasSetStays() {
        let text = Self.text(memoryBytes: 256 << 20, ["shared_buffers": "16MB"])
        #expect(text.contains("shared_buffers = '16MB'\n"))
    }

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

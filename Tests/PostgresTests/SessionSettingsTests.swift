import Postgres
import Testing
import TransferTestSupport

/// What a role or a database sets for its sessions.
@Suite(.postgresDatabase) struct SessionSettingsTests {
    /// A setting of the database, and what a transaction of the service then has.
    struct Setting: Sendable {
        var name: String
        var value: String
        var read: String
        var expected: String

        /// Makes the case of a setting that is read by its own name unless `read` is given.
        init(_ name: String, _ value: String, read: String? = nil, is expected: String) {
            self.name = name
            self.value = value
            self.read = read ?? name
            self.expected = expected
        }
    }

    private static func set(_ setting: String, to value: String) async throws {
        let aside = try await TestDatabase.current.connection()
        let rows = try await aside.execute("SELECT current_database()::text AS name")
        let name = try Query.quoted(identifier: rows[0].decode("name"))
        try await aside.executeScript("ALTER DATABASE \(name) SET \(setting) = '\(value)'")
    }

    private static func value(
        of setting: String,
        in connection: Connection
    ) async throws -> String {
        let rows = try await connection.execute("SELECT current_setting(\(setting)) AS value")
        return try rows[0].decode("value")
    }

    @Test(
        arguments: [
            Setting("synchronous_commit", "off", is: "on"),
            Setting("synchronous_commit", "local", is: "local"),
            Setting("synchronous_commit", "remote_apply", is: "remote_apply"),
            Setting(
                "default_transaction_isolation",
                "serializable",
                read: "transaction_isolation",
                is: "read committed"
            ),
            Setting("standard_conforming_strings", "off", is: "on"),
        ],
        [false, true]
    )
    func leaveWhatEveryTransactionReliesOn(
        setting: Setting,
        sharesSessions: Bool
    ) async throws {
        try await Self.set(setting.name, to: setting.value)
        let connection = try await TestDatabase.current.connection {
            $0.sharesSessions = sharesSessions
        }
        for _ in 0..<2 {
            let value = try await Self.value(of: setting.read, in: connection)
            #expect(value == setting.expected)
        }
    }

    @Test(arguments: ["idle_session_timeout", "idle_in_transaction_session_timeout"])
    func endNoConnectionThatIsIdle(setting: String) async throws {
        try await Self.set(setting, to: "4s")
        let connection = try await TestDatabase.current.connection()
        #expect(try await Self.value(of: setting, in: connection) == "0")
    }

    /// As the connection on which instances signal what they did.
    @Test(arguments: [false, true])
    func giveWayToThoseOfAConnection(sharesSessions: Bool) async throws {
        try await Self.set("synchronous_commit", to: "on")
        let connection = try await TestDatabase.current.connection {
            $0.sharesSessions = sharesSessions
            $0.serverSettings["synchronous_commit"] = "off"
        }
        #expect(try await Self.value(of: "synchronous_commit", in: connection) == "off")
    }
}

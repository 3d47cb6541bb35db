@testable import Postgres
import Testing
import TransferTestSupport

/// A server that takes no changes, as the standby to which the first host of a URL leads after a
/// failover.
@Suite(.postgresDatabase, .timeLimit(.minutes(2))) struct ReadOnlyServerTests {
    @Test func isPassedOverUnlessTheURLSaysOtherwise() async throws {
        let database = TestDatabase.current
        let aside = try await database.connection()
        let name: String = try await aside.execute(
            "SELECT current_database()::text AS name"
        )[0].decode("name")
        let alter = "ALTER DATABASE \(Query.quoted(identifier: name))"
        func isOpened(adding words: String) async -> Bool {
            var configuration = ConnectionConfiguration(
                url: "\(database.configuration.url) \(words)"
            )
            configuration.connectTimeout = .seconds(60)
            let opened = try? await Connection.open(configuration, on: database.loop)
            await opened?.close()
            return opened != nil
        }
        try await aside.executeScript("\(alter) SET default_transaction_read_only = on")
        let refusal = await #expect(throws: PostgresError.self) {
            _ = try await Connection.open(database.configuration, on: database.loop)
        }
        let isOpenedAnyway = await isOpened(adding: "target_session_attrs=any")
        try await aside.executeScript("\(alter) RESET default_transaction_read_only")
        #expect(refusal?.code == .connectionFailed)
        #expect(refusal?.reason == "session is read-only")
        #expect(isOpenedAnyway)
        #expect(await isOpened(adding: ""))
    }
}

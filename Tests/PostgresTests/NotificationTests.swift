import Postgres
import Testing
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct NotificationTests {
    @Test func deliversPayloadsInOrderWhileIdleAndInFlight() async throws {
        let listener = try await TestDatabase.current.connection()
        let sender = try await TestDatabase.current.connection()
        let channel = TestDatabase.current.schema
        _ = try await listener.execute("LISTEN \(identifier: channel)")
        _ = try await sender.execute("SELECT pg_notify(\(channel), \("first ü"))")
        var messages = listener.notifications.makeAsyncIterator()
        #expect(await messages.next() == .init(channel: channel, payload: "first ü"))
        let held = try await HeldStatement()
        async let busy = listener.execute(held.query)
        try await held.waitUntilReached()
        _ = try await sender.execute([
            "SELECT pg_notify(\(channel), \("second"))",
            "SELECT pg_notify(\(channel), \("third"))",
        ])
        try await held.letGo()
        #expect(await messages.next()?.payload == "second")
        #expect(await messages.next()?.payload == "third")
        _ = try await busy
    }

    @Test func streamEndsWithTheConnection() async throws {
        let listener = try await TestDatabase.current.connection()
        await listener.close()
        var messages = listener.notifications.makeAsyncIterator()
        #expect(await messages.next() == nil)
    }
}

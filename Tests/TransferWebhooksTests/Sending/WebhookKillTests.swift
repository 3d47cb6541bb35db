import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// The contents of each subscriber's log, whatever happens to the service and to the receiver.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookKillTests {
    /// Returns random answers: most often success, sometimes a failure, a broken connection or
    /// garbage.
    private func answers(_ random: inout SeededGenerator, _ count: Int) -> [WebhookReceiver.Answer]
    {
        (0..<count).map { _ in
            switch Int.random(in: 0..<10, using: &random) {
            case 0: .status(500)
            case 1: .status(503, headers: [("retry-after", "0")])
            case 2: .script(.raw("not HTTP at all\r\n\r\n"))
            case 3: .status(302, headers: [("location", "http://127.0.0.1:1/")])
            default: .status(204)
            }
        }
    }

    @Test(arguments: UInt64(1)...4)
    func eachLogHoldsEveryEventInOrderWithTheEndLast(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        let fixture = try await DeliveryFixture()
        let paths = ["/a", "/b"]
        for path in paths {
            try await fixture.subscribe(path, answers: answers(&random, 60))
        }
        let sessions = ["one", "two", "three"]
        for session in sessions {
            for _ in 0..<2 {
                let count = Int.random(in: 1...6, using: &random)
                for task in try await fixture.happen(count, in: session) {
                    _ = try await fixture.stores.control.cancelTask(
                        tenant: fixture.tenant,
                        id: task
                    )
                }
            }
        }
        var expected: [String: Int] = [:]
        for session in sessions {
            expected[session] = try await fixture.stores.events.events(
                tenant: fixture.tenant,
                sessionIdentifier: session,
                after: 0,
                limit: 1000
            )?.count
        }
        let total = expected.values.reduce(0, +)
        // Processes that end without notice after a random number of messages.
        for _ in 0..<5 {
            let seen = fixture.receiver.received(at: "/a").count
            let more = Int.random(in: 1...8, using: &random)
            try await fixture.withKilledDispatcher {
                await fixture.receiver.log.wait { log in
                    log.requests(at: "/a").count >= seen + more
                        || log.requests(at: "/a").count >= total
                }
            }
        }
        try await fixture.withDispatcher { _ in
            try await eventually("everything is delivered") {
                try await fixture.count(
                    "SELECT count(*) AS count FROM delivery WHERE due_at IS NOT NULL"
                ) == 0
            }
        }
        for path in paths {
            try check(fixture.receiver.received(at: path), expected)
        }
    }

    private func check(_ log: [ReceivedWebhook], _ expected: [String: Int]) throws {
        var bodies: [String: [UInt8]] = [:]
        var first: [String: [(sequence: Int64, type: String)]] = [:]
        for message in log {
            let event = try message.event()
            if let body = bodies.updateValue(message.body, forKey: message.id) {
                #expect(body == message.body)
            } else {
                first[event.session, default: []].append((event.sequence, event.type))
            }
        }
        for (session, count) in expected {
            let events = first[session] ?? []
            #expect(events.map(\.sequence) == (1...Int64(count)).map { $0 })
            #expect(events.last?.type == "session.events_finished")
        }
    }
}

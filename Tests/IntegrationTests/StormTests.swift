import Foundation
import Testing
import TransferTestSupport
import TransferWebhooks
import TransferWire

/// What each subscriber's log holds whatever happens to the process of the service and to those who
/// receive.
///
/// A seed that fails is in the failure; `TRANSFERD_TEST_SEED` runs it alone, with the same downloads,
/// answers and blows, as far as processes do the same twice.
@Suite(.timeLimit(.minutes(5))) struct StormTests {
    private static let seeds: [UInt64] = {
        let one = ProcessInfo.processInfo.environment["TRANSFERD_TEST_SEED"].flatMap { UInt64($0) }
        return one.map { [$0] } ?? [1, 2, 3, 4]
    }()

    @Test(arguments: seeds)
    func eachSubscriberGetsEveryEventInOrderWithTheEndLast(seed: UInt64) async throws {
        let run = try await StormRun(seed: seed)
        try await run.pass()
        let events = try await run.settle()
        for session in Storm.sessions {
            try Self.check(events[session] ?? [], of: await run.states(in: session))
        }
        try await run.deliver(events)
        // What comes now comes again.
        await run.end()
        for subscriber in StormRun.subscribers {
            let (messages, verifier) = try await run.log(of: subscriber)
            try Self.check(messages, verifier)
            for (session, events) in events {
                Self.check(
                    messages.filter { $0.session == session },
                    against: events.filter { subscriber.wants($0.type) }.map(\.id),
                    "\(subscriber.path) \(session)"
                )
            }
        }
    }

    /// The log of the service itself: without gaps, with one end of each task, and with the end of
    /// each generation once and last.
    private static func check(_ events: [EventMessage], of states: [String: String]) throws {
        #expect(events.map(\.data.sequence) == events.indices.map { Int64($0) + 1 })
        let kinds = ["task.completed", "task.failed", "task.cancelled"]
        let ends = events.filter { kinds.contains($0.type) }.compactMap(\.data.task)
        #expect(ends.count == states.count)
        for task in ends { #expect(states[task.id] == task.state) }
        for (generation, events) in Dictionary(grouping: events, by: \.data.generation) {
            let finished = events.filter { $0.type == "session.events_finished" }
            #expect(finished.count == 1, "generation \(generation)")
            #expect(events.last?.type == "session.events_finished", "generation \(generation)")
        }
    }

    /// Each message by itself, and those that came again.
    private static func check(_ messages: [ArrivedMessage], _ verifier: WebhookVerifier) throws {
        var bodies: [String: [UInt8]] = [:]
        var events: [String: [UInt8]] = [:]
        for message in messages {
            try verifier.verify(headers: message.headers, body: message.body)
            let first = bodies.updateValue(message.body, forKey: message.id) ?? message.body
            #expect(first == message.body, "message \(message.id) has changed")
            for event in message.events {
                let bytes = try WireEncoder.encode(event)
                let first = events.updateValue(bytes, forKey: event.id) ?? bytes
                #expect(first == bytes, "event \(event.id) has changed")
            }
            #expect(!message.events.isEmpty)
            #expect(Set(message.events.map(\.data.sessionIdentifier)).count == 1)
            if !message.isBatch { #expect(message.events.map(\.id) == [message.id]) }
            if message.events.contains(where: { $0.type == "session.events_finished" }) {
                #expect(!message.isBatch, "the end of a generation is alone")
            }
        }
    }

    /// Nothing is sent before all that comes before it in its session was taken, and all is taken.
    ///
    /// So the end of a generation is told after everything of it, and has one identifier.
    private static func check(
        _ messages: [ArrivedMessage],
        against wanted: [String],
        _ place: String
    ) {
        let positions = Dictionary(
            zip(wanted, wanted.indices),
            uniquingKeysWith: { first, _ in first }
        )
        var taken = 0
        for message in messages {
            let found = message.events.compactMap { positions[$0.id] }
            #expect(found.count == message.events.count, "\(place): nobody asked for this")
            guard let first = found.first else { continue }
            #expect(
                first <= taken,
                "\(place): \(message.events[0].type) \(message.events[0].data.sequence) was early"
            )
            #expect(found == Array(first..<first + found.count), "\(place): a gap in a batch")
            if message.isTaken { taken = max(taken, first + found.count) }
        }
        #expect(taken == wanted.count, "\(place): not all was taken")
    }
}

import Foundation
import StandardWebhooks
import Synchronization
import Testing
import TransferClient
import TransferWire

@Suite struct WebhookHandlerTests {
    private struct Refusal: Error {}

    private let secret = SigningSecret.random()
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static func event(_ sequence: Int, _ type: String, _ data: String = "") -> String {
        """
        {"id": "e\(sequence)", "type": "\(type)", "timestamp": "2026-03-01T12:00:00Z",
        "version": 1, "data": {"sequence": \(sequence), "generation": 1, "client": "app",
        "session_identifier": "a b"\(data)}}
        """
    }

    private func send(
        _ body: String,
        id: String = "m1",
        age: Int64 = 0,
        to handler: WebhookHandler
    ) async -> WebhookOutcome {
        let bytes = Array(body.utf8)
        let headers = WebhookSigner(secrets: [secret])
            .headers(id: id, timestamp: 1_800_000_000 - age, body: bytes)
        return await handler.handle(headers: headers, body: bytes, now: now)
    }

    /// A handler that keeps what it is given.
    private func handler(
        remembered: Int = 10,
        answering answers: [WebhookAnswer?] = []
    ) -> (handler: WebhookHandler, seen: Seen) {
        let seen = Seen()
        let rest = Mutex(answers)
        let handler = WebhookHandler(secrets: [secret], remembered: remembered) { event in
            seen.events.withLock { $0.append(event) }
            let answer = rest.withLock { $0.isEmpty ? .done : $0.removeFirst() }
            guard let answer else { throw Refusal() }
            return answer
        }
        return (handler, seen)
    }

    private final class Seen: Sendable {
        let events = Mutex<[WebhookEvent]>([])
        var count: Int { events.withLock(\.count) }
        var last: WebhookEvent? { events.withLock(\.last) }
    }

    @Test func handsAnAuthenticEventToItsProgram() async throws {
        let (handler, seen) = handler()
        let outcome = await send(Self.event(3, "session.invalidated"), to: handler)
        #expect(outcome.status == 204)
        guard case .event(let event) = seen.last, case .sessionInvalidated = event.kind else {
            Issue.record("another event: \(String(describing: seen.last))")
            return
        }
        #expect(event.sequence == 3 && event.sessionIdentifier == "a b")
    }

    @Test func refusesWhatIsForeignOrOld() async throws {
        let (handler, seen) = handler()
        let foreign = WebhookSigner(secrets: [.random()])
        let body = Array(Self.event(1, "task.created").utf8)
        let headers = foreign.headers(id: "m", timestamp: 1_800_000_000, body: body)
        #expect(await handler.handle(headers: headers, body: body, now: now).status == 401)
        let old = await send(Self.event(1, "session.invalidated"), age: 301, to: handler)
        #expect(old.status == 401)
        #expect(old.error as? WebhookVerificationError == .timestampOutOfTolerance)
        #expect(seen.count == 0)
    }

    @Test func dropsARepetitionWithinItsBound() async throws {
        let (handler, seen) = handler(remembered: 2)
        let body = Self.event(1, "session.invalidated")
        for id in ["a", "b", "a"] { #expect(await send(body, id: id, to: handler).status == 204) }
        #expect(seen.count == 2)
        #expect(await send(body, id: "b", to: handler).isRepetition)
        // A third message takes the place of the first.
        for id in ["c", "a"] {
            #expect(await !send(body, id: id, to: handler).isRepetition)
        }
        #expect(seen.count == 4)
    }

    @Test func getsAMessageAgainThatItsProgramCouldNotTake() async throws {
        let (handler, seen) = handler(answering: [nil, .done])
        let body = Self.event(1, "session.invalidated")
        let failed = await send(body, to: handler)
        #expect(failed.status == 503 && failed.error is Refusal)
        #expect(await send(body, to: handler).status == 204)
        #expect(seen.count == 2)
    }

    @Test func sendsARepetitionAwayWhileTheFirstIsWorkedOn() async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let handler = WebhookHandler(secrets: [secret]) { _ in
            start.yield()
            for await _ in ended { break }
            return .done
        }
        let body = Self.event(1, "session.invalidated")
        async let first = send(body, to: handler)
        for await _ in started { break }
        let second = await send(body, to: handler)
        #expect(second.status == 503 && second.isRepetition)
        end.yield()
        #expect(await first.status == 204)
        #expect(await send(body, to: handler).isRepetition)
    }

    @Test func letsTheBarrierBeAcknowledgedLater() async throws {
        let (handler, seen) = handler(answering: [.later, .done])
        let body = Self.event(
            9,
            "session.events_finished",
            #", "completed": 2, "failed": 1, "cancelled": 0, "ack_token": "t", "failed_tasks": []"#
        )
        #expect(await send(body, to: handler).status == 202)
        guard case .finished(let event, let outcome, let acknowledgement?) = seen.last else {
            Issue.record("no barrier: \(String(describing: seen.last))")
            return
        }
        #expect(event.sequence == 9 && outcome.completed == 2 && outcome.failed == 1)
        let transport = ScriptedTransport { _ in TransportResponse(204) }
        try await transport.service().acknowledge(acknowledgement)
        let request = try #require(transport.requests.first)
        #expect(request.target == "/v1/sessions/a%20b/events/ack?client=app")
        #expect(request.text == #"{"ack_token":"t"}"#)
        // The answer to an earlier attempt was lost.
        let repeated = ScriptedTransport { _ in .problem(.staleAckToken) }
        try await repeated.service().acknowledge(acknowledgement)
        // Without the acknowledgement the message comes again, and is no repetition then.
        #expect(await send(body, to: handler).status == 204)
        #expect(seen.count == 2)
    }

    @Test func opensBatchesAndTests() async throws {
        let (handler, seen) = handler()
        let events = [1, 2].map { Self.event($0, "session.events_pending") }
        let batch = """
            {"id": "b", "type": "events.batch", "timestamp": "2026-03-01T12:00:00Z", "version": 1,
            "data": {"first_sequence": 1, "last_sequence": 2, "events": [\(events[0]), \(events[1])]}}
            """
        #expect(await send(batch, id: "b", to: handler).status == 204)
        #expect(seen.count == 2)
        let test = """
            {"id": "t", "type": "subscription.test", "timestamp": "2026-03-01T12:00:00Z",
            "data": {"subscription_id": "u"}}
            """
        #expect(await send(test, id: "t", to: handler).status == 204)
        guard case .test(let message) = seen.last else {
            Issue.record("no test: \(String(describing: seen.last))")
            return
        }
        #expect(message.data.subscriptionID == "u")
        #expect(await send("{", id: "x", to: handler).status == 422)
    }
}

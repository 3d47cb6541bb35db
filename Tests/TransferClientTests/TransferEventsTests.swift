import Synchronization
import Testing
import TransferClient
import TransferWire

@Suite(.timeLimit(.minutes(1))) struct TransferEventsTests {
    private static let stream = [("Content-Type", "text/event-stream")]

    private static func event(_ sequence: Int, _ type: String) -> String {
        """
        id: s:\(sequence)
        event: \(type)
        data: {"id":"e\(sequence)","type":"\(type)","timestamp":"2026-03-01T12:00:00Z",\
        "version":1,"data":{"sequence":\(sequence),"generation":1,"novelty":true}}


        """
    }

    /// A service that answers the requests for events one after the other.
    private static func transport(_ responses: [TransportResponse]) -> ScriptedTransport {
        let rest = Mutex(responses)
        return ScriptedTransport { _ in
            rest.withLock { $0.isEmpty ? .problem(.unknownSession) : $0.removeFirst() }
        }
    }

    private func events(_ transport: ScriptedTransport) -> TransferEvents {
        TransferEvents(
            service: transport.service(),
            sessionIdentifier: "s",
            after: EventCursor(sessionID: "s", sequence: 4)
        )
    }

    @Test func reconnectsBehindTheLastEvent() async throws {
        let transport = Self.transport([
            TransportResponse(
                200,
                ["retry: 1\n\n", Self.event(5, "task.created"), Self.event(6, "task.waiting")],
                headers: Self.stream,
                failure: TransportFailure(.broken, "cut")
            ),
            // A heartbeat moves over events that were not asked for.
            TransportResponse(200, ["retry: 1\n\n:\n\nid: s:9\n\n"], headers: Self.stream),
            TransportResponse(200, [Self.event(10, "session.invalidated")], headers: Self.stream),
        ])
        var sequences: [Int64] = []
        for try await event in events(transport) { sequences.append(event.sequence) }
        #expect(sequences == [5, 6, 10])
        let cursors = transport.requests.map { $0.header("Last-Event-ID") }
        #expect(cursors == ["s:4", "s:6", "s:9"])
    }

    @Test func readsAllSessionsAndGoesOnBehindTheEndOfOne() async throws {
        let transport = Self.transport([
            TransportResponse(
                200,
                [Self.event(5, "session.invalidated"), Self.event(6, "task.created")],
                headers: Self.stream
            )
        ])
        let events = TransferEvents(
            service: transport.service(),
            after: EventCursor("t:4"),
            types: ["task.*", "session.*"]
        )
        var iterator = events.makeAsyncIterator()
        for sequence in [5, 6] {
            let event = try #require(try await iterator.next())
            #expect(event.cursor == EventCursor("s:\(sequence)"))
        }
        let request = try #require(transport.requests.first)
        #expect(request.target == "/v1/events?types=task.*,session.*")
        #expect(request.header("Last-Event-ID") == "t:4")
    }

    /// It is told by the service that nothing follows.
    @Test func endsWithASessionWhoseLastEventIsNotWanted() async throws {
        let transport = Self.transport([
            TransportResponse(
                200,
                ["retry: 1\n\n", Self.event(5, "task.completed"), "id: s:7\n\n"],
                headers: Self.stream
            ),
            TransportResponse(204),
        ])
        var sequences: [Int64] = []
        for try await event in events(transport) { sequences.append(event.sequence) }
        #expect(sequences == [5])
        #expect(transport.requests.map { $0.header("Last-Event-ID") } == ["s:4", "s:7"])
    }

    @Test func keepsAnEventThatIsNewer() async throws {
        let transport = Self.transport([
            TransportResponse(
                200,
                [Self.event(5, "task.painted"), Self.event(6, "moon.eclipsed")],
                headers: Self.stream
            )
        ])
        var iterator = events(transport).makeAsyncIterator()
        for type in ["task.painted", "moon.eclipsed"] {
            let event = try #require(try await iterator.next())
            guard case .other(type: type) = event.kind else {
                Issue.record("\(event.kind)")
                continue
            }
        }
    }

    @Test func endsWhenTheServiceRefuses() async throws {
        let transport = Self.transport([.problem(.eventsExpired)])
        var iterator = events(transport).makeAsyncIterator()
        let error = await #expect(throws: TransferError.self) { try await iterator.next() }
        #expect(error?.problem?.code == .eventsExpired)
        #expect(try await iterator.next() == nil)
        #expect(transport.requests.count == 1)
    }

    @Test func endsWithItsReader() async throws {
        let transport = ScriptedTransport { _ throws(TransportFailure) in
            throw TransportFailure(.notConnected, "refused")
        }
        let events = events(transport)
        let reading = Task { for try await _ in events {} }
        reading.cancel()
        let error = await #expect(throws: TransferError.self) { try await reading.value }
        #expect(error?.code == .cancelled)
    }

    /// Whatever a proxy answers that has no way to the service.
    @Test func outlivesAnswersThatAreNotTheService() async throws {
        let page = [("Content-Type", "text/html")]
        let transport = Self.transport([
            TransportResponse(
                200,
                ["retry: 1\n\n", Self.event(5, "task.created")],
                headers: Self.stream
            ),
            TransportResponse(500, ["<html>"], headers: page),
            TransportResponse(404, ["<html>"], headers: page),
            TransportResponse(200, ["<html>"], headers: page),
            TransportResponse(429, ["<html>"], headers: [("Retry-After", "0")]),
            TransportResponse(200, [Self.event(6, "session.invalidated")], headers: Self.stream),
        ])
        var sequences: [Int64] = []
        for try await event in events(transport) { sequences.append(event.sequence) }
        #expect(sequences == [5, 6])
        // Where the service never was, it is not waited for.
        let elsewhere = Self.transport([TransportResponse(404, ["<html>"], headers: page)])
        var iterator = events(elsewhere).makeAsyncIterator()
        let error = await #expect(throws: TransferError.self) { try await iterator.next() }
        #expect(error?.code == .unexpectedResponse)
        #expect(elsewhere.requests.count == 1)
    }
}

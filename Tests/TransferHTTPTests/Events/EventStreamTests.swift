import Foundation
import Hummingbird
import Logging
import Postgres
import ServiceLifecycle
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Events as Server-Sent Events.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EventStreamTests {
    private static var lively: EventReaderBounds {
        var bounds = EventReaderBounds()
        bounds.heartbeatInterval = .milliseconds(50)
        return bounds
    }

    @Test func eventsComeAsTheyHappenInTheBytesOfThePages() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.submit(
                session,
                #"{"url": "http://a.example/", "client_persisted_string": "a\nb\r\u2028"}"#
            )
            let stream = try server.stream("\(session)/events")
            try await eventually("the first event comes") { stream.events.count == 1 }
            try await server.complete(Array("abc".utf8))
            try await eventually("all others come") {
                stream.events.last?.type == "session.events_finished"
            }
            let page = try await server.send("GET", "\(session)/events")
            let items = try page.json(EventPage.self).items
            #expect(
                stream.events.map(\.id)
                    == items.map { "\($0.data.sessionID ?? ""):\($0.data.sequence)" }
            )
            #expect(stream.events.map(\.type) == items.map(\.type))
            #expect(
                page.text
                    == #"{"items":[\#(stream.events.map(\.data).joined(separator: ","))],"has_more":false,"next":"\#(stream.events.last?.id ?? "")"}"#
            )
            #expect(stream.head.lowercased().contains("content-type: text/event-stream"))
            #expect(stream.text.components(separatedBy: "retry: ").count == 2)
        }
    }

    @Test func aStreamGoesOnWhereTheClientIs() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await server.submit(session) }
            let place = try await server.place(1, in: session)
            let after = try server.stream("\(session)/events?after=\(place)")
            let again = try server.stream(
                "\(session)/events?after=\(place)",
                fields: [("Last-Event-ID", try await server.place(2, in: session))]
            )
            let first = try server.stream("\(session)/events", fields: [("Last-Event-ID", "")])
            try await eventually("all of it comes") {
                after.events.map(\.sequence) == [2, 3] && again.events.map(\.sequence) == [3]
                    && first.events.map(\.sequence) == [1, 2, 3]
            }
            let answer = try await server.send(
                "GET",
                "\(session)/events",
                fields: [("Accept", "text/event-stream"), ("Last-Event-ID", "x")]
            )
            #expect(answer.faults == ["Last-Event-ID invalid_cursor"])
        }
    }

    @Test func aQuietStreamSaysThatItIsAliveAndWhereItIs() async throws {
        try await APIServer.run(readers: Self.lively) { server in
            let session = try await server.session()
            _ = try await server.submit(session)
            let place = try await server.place(1, in: session)
            let stream = try server.stream("\(session)/events?types=session.*")
            try await eventually("a comment and the place come") {
                stream.text.contains(":\n\nid: \(place)\n\n")
            }
            #expect(stream.events.isEmpty)
            try await server.complete([1])
            try await eventually("what is asked for comes") {
                stream.events.map(\.type) == ["session.events_finished"]
            }
        }
    }

    /// A client that hears nothing connects again, and would begin where it began before.
    @Test func aStreamThatPassesOverEventsSaysWhereItIs() async throws {
        var bounds = EventReaderBounds()
        bounds.heartbeatInterval = .milliseconds(500)
        try await APIServer.run(readers: bounds) { server in
            let session = try await server.session()
            let stream = try server.stream("\(session)/events?types=session.*")
            // One event follows another much sooner than a quiet stream would say anything.
            try await eventually("it says that it has got further") {
                _ = try await server.submit(session)
                return Set(stream.places).count > 1
            }
            let places = stream.places
            let sequences = places.compactMap { place in
                place.split(separator: ":").last.flatMap { Int64($0) }
            }
            #expect(sequences.count == places.count && sequences == sequences.sorted())
            #expect(stream.events.isEmpty)
            let place = try #require(places.last)
            let next = try server.stream("\(session)/events", fields: [("Last-Event-ID", place)])
            _ = try await server.submit(session)
            try await eventually("what follows comes") { !next.events.isEmpty }
            let last = try #require(sequences.last)
            #expect(next.events.first?.sequence == last + 1)
        }
    }

    @Test func whoGoesAwayGivesUpItsPlace() async throws {
        var bounds = EventReaderBounds()
        bounds.perTenantMax = 1
        bounds.max = 2
        try await APIServer.run(readers: bounds) { server in
            let session = try await server.session()
            let other = try await server.session(as: server.second)
            let stream = try server.stream("\(session)/events")
            try await eventually("the stream has begun") { !stream.text.isEmpty }
            for fields in [[("Accept", "text/event-stream")], [("Prefer", "wait=5")]] {
                let answer = try await server.send("GET", "\(session)/events", fields: fields)
                #expect(answer.status == 429)
                #expect(answer.code == .tooManyReaders)
                #expect(answer.fields["retry-after"] == "10")
            }
            let neighbour = try server.stream("\(other)/events", as: server.second)
            try await eventually("another tenant has its own place") { !neighbour.text.isEmpty }
            stream.goAway()
            try await eventually("the place is free") { try await server.hasPlace(session) }
            // An answer without a body has not kept a place occupied.
            let next = try server.stream("\(session)/events")
            try await eventually("another stream begins") { !next.text.isEmpty }
        }
    }

    @Test func whoDoesNotReadIsLetGo() async throws {
        var bounds = EventReaderBounds()
        bounds.perTenantMax = 1
        bounds.writeTimeout = .milliseconds(500)
        try await APIServer.run(readers: bounds) { server in
            let session = try await server.session()
            let string = String(repeating: "x", count: 60_000)
            let task = #"{"url": "http://a.example/", "client_persisted_string": "\#(string)"}"#
            let tasks = "[" + Array(repeating: task, count: 15).joined(separator: ",") + "]"
            for _ in 0..<16 { try await server.send("POST", "\(session)/tasks", tasks) }
            let idle = try server.stream("\(session)/events", isReading: false)
            // With the first byte it has its place.
            #expect(try await onThread { idle.receive(bytesMax: 1) })
            try await eventually("it has lost its place") { try await server.hasPlace(session) }
            idle.startReading()
            try await eventually("its connection is closed") { idle.isEnded }
            #expect(idle.events.count < 240)
        }
    }

    @Test func aStreamEndsWithTheLastEventOfItsSession() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.submit(session)
            let stream = try server.stream("\(session)/events")
            try await eventually("the stream has begun") { stream.events.count == 1 }
            try await server.send("DELETE", session)
            try await eventually("the stream ends") { stream.isEnded }
            #expect(
                stream.events.suffix(2).map(\.type)
                    == ["session.events_finished", "session.invalidated"]
            )
        }
    }

    /// An EventSource would otherwise connect again for as long as the session is kept.
    @Test func whoHasAllOfAnEndedSessionNeedNotComeAgain() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.submit(session)
            try await server.send("DELETE", session)
            let events = "\(session)/events?types=task.created"
            let stream = try server.stream(events)
            try await eventually("the stream ends") { stream.isEnded }
            #expect(stream.events.map(\.type) == ["task.created"])
            let end = try await server.send("GET", "\(session)/events").json(EventPage.self).next
            // Nothing that was asked for is there, but the client is told where it is.
            #expect(stream.places == [end])
            let again: (String) async throws -> HTTPClient.Answer = { place in
                try await server.send(
                    "GET",
                    events,
                    fields: [("Accept", "text/event-stream"), ("Last-Event-ID", place)]
                )
            }
            let atTheEnd = try await again(end)
            #expect(atTheEnd.status == 204 && atTheEnd.body.isEmpty)
            let before = try #require(stream.events.last?.id)
            #expect(try await again(before).status == 200)
            // A page is a page also there.
            let page = try await server.send("GET", "\(session)/events?after=\(end)")
            #expect(page.status == 200)
        }
    }

    @Test func aShutdownEndsStreamsCleanly() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let (ports, port) = AsyncStream<Int>.makeStream()
            let application = server.api.application(host: "127.0.0.1", port: 0) { port.yield($0) }
            let logger = Logger(label: "http-tests", factory: { _ in SwiftLogNoOpLogHandler() })
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(services: [application], logger: logger)
            )
            async let end: Void = group.run()
            let found = try #require(await ports.first { _ in true })
            let stream = try server.stream("\(session)/events", port: found)
            try await eventually("the stream has begun") { !stream.text.isEmpty }
            await group.triggerGracefulShutdown()
            try await end
            try await eventually("the stream has ended") { stream.isEnded }
            #expect(stream.isWhole)
        }
    }

    @Test func theTenantsOwnEventsAreStreamedWithAllOthers() async throws {
        try await APIServer.run { server in
            let stream = try server.stream("/v1/events")
            try await eventually("the stream has begun") { !stream.text.isEmpty }
            _ = try await TestDatabase.current.connection().execute(
                """
                WITH counter AS (
                    INSERT INTO session_progress (session_id, last_sequence)
                    SELECT id, 1 FROM tenant WHERE name = 'first' RETURNING session_id
                ),
                news AS (
                    INSERT INTO task_move (tenant_id, session_id, tasks, bytes_received, bytes_sent)
                    SELECT session_id, session_id, 1, 0, 0 FROM counter
                )
                INSERT INTO event_run (
                    session_id, last_sequence, first_sequence, kind, generation, details)
                SELECT session_id, 1, 1, 'subscription.disabled', 0, jsonb_build_object(
                    'subscription_id', gen_random_uuid(), 'reason', 'gone',
                    'failing_since_ms', 0)
                FROM counter
                """
            )
            try await eventually("the event comes") {
                stream.events.map(\.type) == ["subscription.disabled"]
            }
        }
    }
}

extension StreamClient {
    /// The positions that came without an event.
    fileprivate var places: [String] {
        text.components(separatedBy: "\n\n").dropLast()
            .filter { $0.hasPrefix("id: ") && !$0.contains("\n") }
            .map { String($0.dropFirst(4)) }
    }
}

extension APIServer {
    /// Returns whether another stream of the first tenant would be started now.
    fileprivate func hasPlace(_ session: String) async throws -> Bool {
        let answer = try await client.exchange(
            HTTPClient.request(
                "HEAD",
                "\(session)/events",
                fields: [
                    ("Authorization", "Bearer \(first.key.serialized)"),
                    ("Accept", "text/event-stream"),
                ],
                body: nil
            )
        )
        return answer.status == 200
    }
}

import Postgres
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The answers to readers of events that are no longer kept.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EventRetentionTests {
    private static func run(_ body: @Sendable (APIServer, String) async throws -> Void) async throws
    {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<4 { _ = try await server.submit(session) }
            try await forget(through: 2)
            try await body(server, session)
        }
    }

    private static func forget(through sequence: Int64) async throws {
        _ = try await TestDatabase.current.connection().execute(
            Query.expireEvents(where: "last_sequence <= \(sequence)")
        )
    }

    @Test(arguments: [
        [], [("Prefer", "wait=60")], [("Accept", "text/event-stream")],
    ])
    func whoAsksForThemIsToldWhereToGoOn(fields: [(String, String)]) async throws {
        try await Self.run { server, session in
            let first = try await server.place(1, in: session)
            for (forgotten, oldest) in [(Int64(2), Int64(3)), (4, 5)] {
                try await Self.forget(through: forgotten)
                for (query, fields) in [
                    ("?after=\(first)", fields), ("", fields + [("Last-Event-ID", first)]),
                ] where query != "" || fields.contains(where: { $0.0 == "Accept" }) {
                    let answer = try await server.send(
                        "GET",
                        "\(session)/events\(query)",
                        fields: fields
                    )
                    #expect(answer.status == 410)
                    #expect(answer.code == .eventsExpired)
                    #expect(try answer.json(ProblemDetails.self).oldestSequence == oldest)
                }
                let place = try await server.place(oldest - 1, in: session)
                let next = try await server.send("GET", "\(session)/events?after=\(place)")
                #expect(next.status == 200)
            }
        }
    }

    @Test func whoDoesNotSayWhereItIsGetsAllThatIsKept() async throws {
        try await Self.run { server, session in
            let page = try await server.send("GET", "\(session)/events").json(EventPage.self)
            #expect(page.items.map(\.data.sequence) == [3, 4])
            let stream = try server.stream("\(session)/events")
            try await eventually("the stream begins there") {
                stream.events.map(\.sequence) == [3, 4]
            }
            let start = try await server.place(0, in: session)
            let all = try await server.send("GET", "\(session)/events?after=\(start)")
            #expect(all.code == .eventsExpired)
        }
    }

    @Test func noPageHasAGap() async throws {
        try await Self.run { server, session in
            _ = try await server.submit(session)
            _ = try await TestDatabase.current.connection().execute(
                Query.expireEvents(where: "last_sequence = 4")
            )
            let second = try await server.place(2, in: session)
            let page = try await server.send("GET", "\(session)/events?after=\(second)")
                .json(EventPage.self)
            #expect(page.items.map(\.data.sequence) == [3])
            #expect(page.next == (try await server.place(3, in: session)))
            let next = try await server.send("GET", "\(session)/events?after=\(page.next)")
            #expect(try next.json(ProblemDetails.self).oldestSequence == 5)
        }
    }

    @Test func nobodyWaitsBehindTheEndOfALog() async throws {
        try await Self.run { server, session in
            let ends: [Int64] = [999_999_999_999_999_999, 5]
            for after in ends {
                for fields in [[], [("Accept", "text/event-stream")], [("Prefer", "wait=60")]] {
                    let place = try await server.place(after, in: session)
                    let path = "\(session)/events?after=\(place)"
                    let answer = try await server.send("GET", path, fields: fields)
                    #expect(answer.status == 410)
                    #expect(try answer.json(ProblemDetails.self).oldestSequence == 3)
                }
            }
            let place = try await server.place(4, in: session)
            let end = try await server.send("GET", "\(session)/events?after=\(place)")
            #expect(end.text == #"{"items":[],"has_more":false,"next":"\#(place)"}"#)
        }
    }

    /// A position from an earlier session of the same name is no position in the next session's
    /// log.
    @Test func aPlaceInTheLogOfAnEarlierSessionIsRefused() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await server.submit(session) }
            let before = try await server.send("GET", "\(session)/events").json(EventPage.self)
            let first = try #require(before.items.first?.data.sessionID)
            try await server.send("POST", "\(session)/invalidate")
            try await eventually("the identifier is free") {
                try await server.send("PUT", session).status == 201
            }
            for _ in 0..<3 { _ = try await server.submit(session) }
            for place in ["\(first):1", before.next] {
                for fields in [[], [("Accept", "text/event-stream")], [("Prefer", "wait=60")]] {
                    let path = "\(session)/events?after=\(place)"
                    let answer = try await server.send("GET", path, fields: fields)
                    #expect(answer.code == .eventsExpired)
                    let oldest = try answer.json(ProblemDetails.self).oldestSequence
                    #expect(oldest == 1)
                }
            }
            let next = try await server.send("GET", "\(session)/events").json(EventPage.self)
            #expect(next.items.map(\.data.sequence) == [1, 2, 3])
            #expect(next.items.allSatisfy { $0.data.sessionID != first })
        }
    }
}

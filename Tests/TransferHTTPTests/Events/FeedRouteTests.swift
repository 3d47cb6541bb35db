import Postgres
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// `/v1/events`: the events of all sessions of a tenant, as pages, long polls and streams with one
/// cursor.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct FeedRouteTests {
    /// Makes two sessions with three tasks, one of which has completed.
    private static func fill(_ server: APIServer) async throws {
        for name in ["a", "b"] {
            let session = try await server.session(name)
            _ = try await server.submit(session)
        }
        try await server.complete([1])
        _ = try await server.submit("/v1/sessions/a")
    }

    private static func page(_ server: APIServer, _ query: String = "") async throws -> EventPage {
        try await server.send("GET", "/v1/events\(query)").json(EventPage.self)
    }

    @Test func pagesAndStreamsHaveTheSameEventsAtTheSamePlaces() async throws {
        try await APIServer.run { server in
            try await Self.fill(server)
            let all = try await Self.page(server)
            #expect(!all.hasMore)
            #expect(Set(all.items.compactMap(\.data.sessionIdentifier)) == ["a", "b"])
            for name in ["a", "b"] {
                let own = try await server.send("GET", "/v1/sessions/\(name)/events")
                    .json(EventPage.self)
                #expect(
                    all.items.filter { $0.data.sessionIdentifier == name }.map(\.id)
                        == own.items.map(\.id)
                )
            }
            var places: [String] = []
            var place = ""
            repeat {
                let next = try await Self.page(server, "?limit=1\(place)")
                #expect(next.items.map(\.id) == [all.items[places.count].id])
                #expect(next.hasMore == (places.count + 1 < all.items.count))
                places.append(next.next)
                place = "&after=\(next.next)"
            } while places.count < all.items.count
            #expect(places.last == all.next)
            let stream = try server.stream("/v1/events")
            try await eventually("all come") { stream.events.count == all.items.count }
            #expect(stream.events.map(\.id) == places)
            // Behind each of them, a stream goes on and a page too.
            for (index, place) in places.enumerated().dropLast() {
                let rest = try server.stream("/v1/events", fields: [("Last-Event-ID", place)])
                try await eventually("the rest comes") {
                    rest.events.map(\.id) == Array(places.dropFirst(index + 1))
                }
                let page = try await Self.page(server, "?after=\(place)")
                #expect(page.items.map(\.id) == all.items.dropFirst(index + 1).map(\.id))
            }
        }
    }

    @Test func aWaitingRequestIsAnsweredByAnEventOfAnySession() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let end = try await Self.page(server).next
            #expect(end.hasSuffix(":0"))
            async let waiting = server.send(
                "GET",
                "/v1/events?types=task.completed&after=\(end)",
                fields: [("Prefer", "wait=60")]
            )
            let stream = try server.stream("/v1/events")
            _ = try await server.submit(session)
            try await eventually("the stream tells it") { stream.events.count == 1 }
            try await server.complete([1])
            let page = try await waiting.json(EventPage.self)
            #expect(page.items.map(\.type) == ["task.completed"])
            try await eventually("the stream goes on") {
                stream.events.last?.type == "session.events_finished"
            }
        }
    }

    @Test func everybodySeesTheirOwn() async throws {
        try await APIServer.run { server in
            try await Self.fill(server)
            let own = try await Self.page(server)
            let other = try await server.send("GET", "/v1/events", as: server.second)
                .json(EventPage.self)
            #expect(other.items.isEmpty && !other.hasMore)
            let foreign = try await server.send(
                "GET",
                "/v1/events?after=\(own.next)",
                as: server.second
            )
            #expect(foreign.code == .eventsExpired)
        }
    }

    @Test func placesOfSessionsAndBehindTheEndAreRefused() async throws {
        try await APIServer.run { server in
            try await Self.fill(server)
            let end = try await Self.page(server).next
            let count = try #require(end.split(separator: ":").last.flatMap { Int64($0) })
            let places = [
                try await server.place(1, in: "/v1/sessions/a"),
                "\(end.prefix { $0 != ":" }):\(count + 1)",
            ]
            for place in places {
                for fields in [[], [("Accept", "text/event-stream")], [("Prefer", "wait=60")]] {
                    let answer = try await server.send(
                        "GET",
                        "/v1/events?after=\(place)",
                        fields: fields
                    )
                    #expect(answer.status == 410)
                    #expect(answer.code == .eventsExpired)
                    #expect(try answer.json(ProblemDetails.self).oldestSequence == 1)
                }
            }
        }
    }

    @Test func whoIsBehindTheKeptEventsIsToldWhereToGoOn() async throws {
        try await APIServer.run { server in
            try await Self.fill(server)
            let all = try await Self.page(server)
            let tenant = all.next.prefix { $0 != ":" }
            let rows = try await TestDatabase.current.connection().execute(
                "DELETE FROM event_feed WHERE first_position = 1 RETURNING last_position"
            )
            let last = try #require(rows.first).decode("last_position", as: Int64.self)
            for fields in [[], [("Accept", "text/event-stream")], [("Prefer", "wait=60")]] {
                let answer = try await server.send(
                    "GET",
                    "/v1/events?after=\(tenant):1",
                    fields: fields
                )
                #expect(answer.status == 410)
                #expect(try answer.json(ProblemDetails.self).oldestSequence == last + 1)
            }
            let rest = try await Self.page(server, "?after=\(tenant):\(last)")
            #expect(rest.items.map(\.id) == all.items.dropFirst(Int(last)).map(\.id))
            #expect(try await Self.page(server).items.map(\.id) == rest.items.map(\.id))
        }
    }

    /// What the query does not ask for is passed over, and the place moves on.
    @Test func typesAndNamesOfSessionsNarrowIt() async throws {
        try await APIServer.run { server in
            try await Self.fill(server)
            let all = try await Self.page(server)
            let created = try await Self.page(server, "?types=task.created")
            #expect(created.items.map(\.type) == ["task.created", "task.created", "task.created"])
            #expect(created.next == all.next)
            let page = try await Self.page(server, "?session_prefix=b")
            let ofB = all.items.filter { $0.data.sessionIdentifier == "b" }
            #expect(page.items.map(\.id) == ofB.map(\.id))
            #expect(page.next == all.next)
            #expect(try await Self.page(server, "?session_prefix=ab").items.isEmpty)
            let session = try await server.send("GET", "/v1/sessions/a/events?session_prefix=a")
            #expect(session.faults == ["session_prefix unknown_parameter"])
        }
    }
}

import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Long polls for pages of events, and pages of some kinds of events.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EventPollTests {
    @Test func anEmptyPageWaitsForAnEvent() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let wait = [("Prefer", "wait=60")]
            let answers = WakeCounter()
            @Sendable func poll() async throws -> HTTPClient.Answer {
                let answer = try await server.send(
                    "GET",
                    "\(session)/events?types=task.completed",
                    fields: wait
                )
                answers.count()
                return answer
            }
            async let waiting = poll()
            // An event of another kind does not end the wait.
            _ = try await server.submit(session)
            #expect(answers.value == 0)
            try await server.complete([1])
            let answer = try await waiting
            #expect(answer.fields["preference-applied"] == "wait=60")
            let page = try answer.json(EventPage.self)
            #expect(page.items.map(\.type) == ["task.completed"])
            // Existing events are answered at once.
            let all = try await server.send("GET", "\(session)/events", fields: wait)
                .json(EventPage.self)
            #expect(all.items.count >= 3)
        }
    }

    @Test func aPageWithoutAnEventIsAnsweredWhenTheTimeIsOver() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for path in ["\(session)/events", "/v1/events"] {
                let started = ContinuousClock.now
                let answer = try await server.send("GET", path, fields: [("Prefer", "wait=1")])
                #expect(ContinuousClock.now - started >= .seconds(1))
                #expect(answer.fields["preference-applied"] == "wait=1")
                let page = try answer.json(EventPage.self)
                #expect(page.items.isEmpty)
                #expect(page.next.hasSuffix(":0"))
            }
        }
    }

    @Test func nobodyWaitsInASessionInWhichNothingCanHappen() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            async let waiting = server.send(
                "GET",
                "\(session)/events?types=task.progress",
                fields: [("Prefer", "wait=60")]
            )
            try await eventually("the request waits, or finds the session gone") {
                try await server.send("DELETE", session).status == 404
            }
            let answer = try await waiting
            if answer.status != 404 {
                let page = try answer.json(EventPage.self)
                #expect(page.items.isEmpty)
                #expect(page.next.hasSuffix(":1"))
            }
        }
    }

    @Test func aPageOfSomeTypesMovesOverTheOthers() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await server.submit(session) }
            let page = try await server.send("GET", "\(session)/events?types=session.*&limit=2")
                .json(EventPage.self)
            #expect(page.items.isEmpty)
            #expect(page.next == (try await server.place(2, in: session)))
            for types in ["", "task", "task.*,", "x.*", "*"] {
                let answer = try await server.send("GET", "\(session)/events?types=\(types)")
                #expect(answer.faults == ["types invalid_value"], "\(types)")
            }
        }
    }

    @Test(arguments: [
        ("text/event-stream", true), ("text/html, Text/Event-Stream;charset=utf-8", true),
        ("text/event-stream; q=0.5", true), ("text/event-stream; q=0", false), ("*/*", false),
        ("application/json", false), ("", false),
    ])
    func onlyWhoAsksForAStreamGetsOne(accept: String, isStream: Bool) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.client.exchange(
                HTTPClient.request(
                    "HEAD",
                    "\(session)/events",
                    fields: [
                        ("Authorization", "Bearer \(server.first.key.serialized)"),
                        ("Accept", accept),
                    ],
                    body: nil
                )
            )
            #expect((answer.fields["content-type"] == "text/event-stream") == isStream)
        }
    }
}

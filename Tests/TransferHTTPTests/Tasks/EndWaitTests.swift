import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Requests that wait for the end of a task, or of all that is outstanding in a session.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EndWaitTests {
    private static let prefer = [("Prefer", "wait=60")]

    /// Suspends and resumes a task until a request that waits for any change is answered.
    private static func change(_ path: String, _ server: APIServer) async throws {
        let counter = WakeCounter()
        async let changed: Void = {
            _ = try await server.send("GET", path, fields: prefer)
            counter.count()
        }()
        try await eventually("a request is answered") {
            for change in ["suspend", "resume"] {
                try await server.send("POST", "\(path)/\(change)")
            }
            return counter.value > 0
        }
        try await changed
    }

    @Test func aTaskIsWaitedForToItsEnd() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let path = "/v1/tasks/\(id)"
            try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await server.send("GET", "\(path)?until=ended", fields: Self.prefer)
                    }
                }
                // Requests for any change, which came later, are answered by a suspension.
                for _ in 0..<3 { try await Self.change(path, server) }
                try await server.send("POST", "\(path)/cancel")
                for try await found in group {
                    #expect(try found.json(TaskDocument.self).state == "cancelled")
                    #expect(found.fields["preference-applied"] == "wait=60")
                }
            }
            // One that has ended is not waited for.
            let ended = try await server.send("GET", "\(path)?until=ended", fields: Self.prefer)
            #expect(try ended.json(TaskDocument.self).state == "cancelled")
            #expect(try await server.send("GET", "\(path)?until=begun").status == 422)
        }
    }

    @Test func aSessionIsWaitedForUntilNothingIsOutstanding() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let ids = [try await server.submit(session), try await server.submit(session)]
            async let waiting = server.send("GET", session, fields: Self.prefer)
            for id in ids { try await server.send("POST", "/v1/tasks/\(id)/cancel") }
            let found = try await waiting
            let document = try found.json(SessionDocument.self)
            #expect(document.outstanding == 0)
            #expect(document.cancelled == 2)
            #expect(found.fields["preference-applied"] == "wait=60")
            // Nothing is outstanding now.
            let idle = try await server.send("GET", session, fields: Self.prefer)
            #expect(idle.status == 200)
            #expect(idle.fields["preference-applied"] == "wait=60")
        }
    }

    /// It cannot take the answer for one that is as it was for all of its time.
    @Test func whoHasNoPlaceIsNotToldThatItWaited() async throws {
        var bounds = EventReaderBounds()
        bounds.max = 0
        try await APIServer.run(readers: bounds) { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            for path in [session, "/v1/tasks/\(id)"] {
                let answer = try await server.send("GET", path, fields: Self.prefer)
                #expect(answer.status == 200)
                #expect(answer.fields["preference-applied"] == nil, "\(path)")
            }
        }
    }

    @Test func aSessionThatEndsWithItsWorkIsToldOnceMore() async throws {
        try await APIServer.run { server in
            var number = 0
            // A request that comes after the end finds no session.
            try await eventually("a request that waits is answered with the session") {
                number += 1
                let session = try await server.session("s\(number)")
                let id = try await server.submit(session)
                #expect(try await server.send("POST", "\(session)/finish").status == 202)
                async let waiting = server.send("GET", session, fields: Self.prefer)
                _ = try await server.send("GET", session)
                try await server.send("POST", "/v1/tasks/\(id)/cancel")
                let found = try await waiting
                guard found.status == 200 else { return false }
                #expect(try found.json(SessionDocument.self).outstanding == 0)
                return true
            }
        }
    }

    @Test func aSessionWithWorkIsAnsweredWhenTheTimeIsOver() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.submit(session)
            let started = ContinuousClock.now
            let answer = try await server.send("GET", session, fields: [("Prefer", "wait=1")])
            #expect(ContinuousClock.now - started >= .seconds(1))
            #expect(try answer.json(SessionDocument.self).outstanding == 1)
        }
    }
}

import Foundation
import HTTPTypes
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Requests that wait for a task to change.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct SharedPollTests {
    private static let prefer = [("Prefer", "wait=60")]

    @Test func theAnswerComesWithTheChange() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let answers = WakeCounter()
            @Sendable func wait() async throws -> HTTPClient.Answer {
                let path = "/v1/tasks/\(id)"
                let answer = try await server.send("GET", path, fields: Self.prefer)
                answers.count()
                return answer
            }
            async let waiting = wait()
            // Whichever state the request has seen, the next change is one for it.
            try await eventually("the request is answered before its time is over") {
                for change in ["suspend", "resume"] {
                    try await server.send("POST", "/v1/tasks/\(id)/\(change)")
                }
                return answers.value > 0
            }
            let found = try await waiting
            #expect(found.status == 200)
            #expect(found.fields["preference-applied"] == "wait=60")
            try await server.send("POST", "/v1/tasks/\(id)/cancel")
            let ended = try await server.send("GET", "/v1/tasks/\(id)", fields: Self.prefer)
            #expect(try ended.json(TaskDocument.self).state == "cancelled")
        }
    }

    @Test func whoWaitsLeavesPlacesForOtherTenants() async throws {
        var bounds = EventReaderBounds()
        bounds.max = 2
        try await APIServer.run(readers: bounds) { server in
            let id = try await server.submit(server.session())
            let other = try await server.submit(
                server.session(as: server.second),
                as: server.second
            )
            let answers = WakeCounter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        let path = "/v1/tasks/\(id)"
                        try await server.send("GET", path, fields: Self.prefer)
                        answers.count()
                    }
                }
                try await eventually("all but two are answered without waiting") {
                    answers.value == 4
                }
                let started = ContinuousClock.now
                try await server.send(
                    "GET",
                    "/v1/tasks/\(other)",
                    as: server.second,
                    fields: [("Prefer", "wait=1")]
                )
                #expect(ContinuousClock.now - started >= .seconds(1))
                #expect(answers.value == 4)
                try await server.send("POST", "/v1/tasks/\(id)/cancel")
                try await group.waitForAll()
            }
        }
    }

    @Test func aLookThatFailsIsLoggedOnceForAllThatFollow() async throws {
        struct Away: Error {}
        let log = RecordingLog()
        let looks = WakeCounter()
        let poll = SharedPoll<Int, Int>(logger: log.logger) { _ in
            looks.count()
            if looks.value < 4 { throw Away() }
            return [1: looks.value]
        }
        #expect(await poll.news(of: 1, within: .seconds(60)) { $0 == 6 })
        #expect(
            log.lines == [
                "warning waiting requests cannot see changes error=Away()",
                "notice waiting requests see changes again",
            ]
        )
    }

    @Test func whatDoesNotChangeIsAnsweredWhenTheTimeIsOver() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let started = ContinuousClock.now
            let answer = try await server.send(
                "GET",
                "/v1/tasks/\(id)",
                fields: [("Prefer", "respond-async, Wait = 1; x=y")]
            )
            #expect(ContinuousClock.now - started >= .seconds(1))
            #expect(try answer.json(TaskDocument.self).state == "queued")
            #expect(answer.fields["preference-applied"] == "wait=1")
            for field in ["wait=0", "wait", "wait=-1", "wait=1.5", "wait=a", "wait=1=2", "", ","] {
                let answer = try await server.send(
                    "GET",
                    "/v1/tasks/\(id)",
                    fields: [("Prefer", field)]
                )
                #expect(answer.fields["preference-applied"] == nil, "\(field)")
            }
        }
    }

    @Test func nobodyWaitsLongerThanAMinute() {
        var fields = HTTPFields()
        fields[.prefer] = "wait=999999999"
        #expect(WaitPreference(fields)?.seconds == 60)
        fields[.prefer] = "wait=9999999999"
        #expect(WaitPreference(fields) == nil)
    }

    @Test func anothersTaskIsNotWaitedFor() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let answer = try await server.send(
                "GET",
                "/v1/tasks/\(id)",
                as: server.second,
                fields: Self.prefer
            )
            #expect(answer.code == .unknownTask)
        }
    }

    @Test func allThatWaitAreLookedAtTogether() async {
        let tasks = (0..<50).map { _ in TaskID(UUID()) }
        let looks = Mutex(0)
        // Nothing changes before all of them are seen in one look.
        let poll = SharedPoll<TaskID, TransferState>(logger: RecordingLog().logger) { asked in
            looks.withLock { $0 += 1 }
            let state: TransferState = asked.count == 50 ? .completed : .running
            return Dictionary(uniqueKeysWithValues: asked.map { ($0, state) })
        }
        await withDiscardingTaskGroup { group in
            for task in tasks {
                group.addTask {
                    let isNews = await poll.news(of: task, within: .seconds(60)) {
                        $0 != .running
                    }
                    #expect(isNews)
                }
            }
        }
        #expect(looks.withLock { $0 } >= 1)
    }

    @Test func aSignalBringsTheNextLookAtOnce() async {
        let isDone = Mutex(false)
        let poll = SharedPoll<Int, Bool>(logger: RecordingLog().logger) { _ in
            [1: isDone.withLock { $0 }]
        }
        async let news = poll.news(of: 1, within: .seconds(3600)) { $0 == true }
        isDone.withLock { $0 = true }
        for _ in 0..<100 { poll.signal() }
        #expect(await news)
    }

    @Test func whoGoesAwayWaitsNoMore() async {
        let poll = SharedPoll<TaskID, TransferState>(logger: RecordingLog().logger) { asked in
            Dictionary(uniqueKeysWithValues: asked.map { ($0, TransferState.running) })
        }
        let waiting = Task {
            await poll.news(of: TaskID(UUID()), within: .seconds(3600)) { $0 != .running }
        }
        waiting.cancel()
        #expect(await waiting.value == false)
    }

    @Test func aTaskThatIsGoneIsNews() async {
        let poll = SharedPoll<TaskID, TransferState>(logger: RecordingLog().logger) { _ in [:] }
        #expect(await poll.news(of: TaskID(UUID()), within: .seconds(3600)) { $0 != .running })
    }
}

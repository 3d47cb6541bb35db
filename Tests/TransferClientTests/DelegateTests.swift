import Synchronization
import Testing
import TransferClient
import TransferWire

/// What a session tells its delegate, and in which order.
@Suite(.timeLimit(.minutes(1))) struct DelegateTests {
    /// A delegate that notes what it is told, and does what a test wants before it returns.
    private final class Listener: TransferSessionDelegate {
        /// Returns what has come of it, which is noted too.
        typealias Action = @Sendable (_ session: TransferSession, _ call: String) async -> String?

        private struct State {
            var calls: [String] = []
            var isCalled = false
            var signals: [String: Signal] = [:]

            mutating func signal(_ name: String) -> Signal {
                let signal = signals[name] ?? Signal()
                signals[name] = signal
                return signal
            }
        }

        private let state = Mutex(State())
        private let answer: BeginRequest?
        private let action: Action

        init(
            answer: BeginRequest? = BeginRequest(disposition: .proceed),
            _ action: @escaping Action = { _, _ in nil }
        ) {
            self.answer = answer
            self.action = action
        }

        var calls: [String] { state.withLock(\.calls) }
        func isTold(_ call: String) async { await state.withLock { $0.signal(call) }.wait() }
        func hasReturned(from call: String) async { await isTold("after \(call)") }

        private func note(_ call: String, _ session: TransferSession) async {
            let start = state.withLock { state in
                state.calls.append(state.isCalled ? "\(call) beside another" : call)
                state.isCalled = true
                return state.signal(call)
            }
            start.fire()
            let outcome = await action(session, call)
            let isCancelled = Task.isCancelled
            let end = state.withLock { state in
                if let outcome { state.calls.append(outcome) }
                if isCancelled { state.calls.append("cancelled") }
                state.isCalled = false
                return state.signal("after \(call)")
            }
            end.fire()
        }

        func urlSession(
            _ session: TransferSession,
            downloadTask: TransferTask,
            didFinishDownloading result: TransferResult
        ) async { await note("downloaded \(downloadTask.taskIdentifier ?? "")", session) }

        func urlSession(
            _ session: TransferSession,
            downloadTask: TransferTask,
            didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64,
            totalBytesExpectedToWrite: Int64
        ) async { await note("progress \(totalBytesWritten)", session) }

        func urlSession(
            _ session: TransferSession,
            willBeginDelayedRequest task: TransferTask
        ) async -> BeginRequest? {
            await note("begin \(task.taskIdentifier ?? "")", session)
            return answer
        }

        func urlSession(
            _ session: TransferSession,
            task: TransferTask,
            didReceive challenges: [TaskDocument.Failure.Challenge]
        ) async -> ChallengeRequest? {
            let schemes = challenges.map(\.scheme).joined(separator: ",")
            await note("credential \(task.taskIdentifier ?? "") \(schemes)", session)
            return ChallengeRequest(disposition: .use, credential: .named("c"))
        }

        func urlSession(
            _ session: TransferSession,
            task: TransferTask,
            didCompleteWithError error: TransferError?
        ) async {
            let end = error.map { "failed \($0.code.rawValue)" }
            await note(end ?? "completed \(task.taskIdentifier ?? "")", session)
        }

        func urlSession(
            _ session: TransferSession,
            task: TransferTask?,
            didFailWithoutEnding error: TransferError
        ) async { await note("not ended \(error.code.rawValue)", session) }

        func urlSession(
            _ session: TransferSession,
            didBecomeInvalidWithError error: TransferError?
        ) async { await note("invalid", session) }

        func urlSessionDidFinishEvents(forBackgroundURLSession session: TransferSession) async {
            await note("finished", session)
        }
    }

    private static let reconnection = "/v1/sessions/s/reconnect"

    /// A task that asks to begin; `question` is the number of the question.
    private static func asking(_ question: Int) -> String {
        FakeService.task(
            "7",
            state: "waiting_to_begin",
            members: #""until": "2026-03-08T12:00:0\#(question)Z","#
        )
    }

    private static func close(_ session: TransferSession) async -> String {
        do throws(TransferError) {
            try await session.close()
            return "closed"
        } catch {
            return error.code.rawValue
        }
    }

    /// Returns a session whose service responds as `respond` says, and like `fake` to all else.
    private func session(
        _ fake: FakeService,
        _ listener: Listener?,
        _ respond: @escaping FakeService.Respond
    ) -> TransferSession {
        TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: fake.service(answering: respond),
            delegate: listener
        )
    }

    @Test func tellsEachEndOnceAndNothingBesideAnother() async throws {
        let fake = FakeService()
        let gate = Signal()
        let listener = Listener { _, call in
            if call == "downloaded 1" { await gate.wait() }
            return nil
        }
        let session = session(fake, listener) { request in
            guard request.target == Self.reconnection else { return nil }
            return FakeService.page(
                FakeService.task("1", state: "completed"),
                FakeService.task("2", state: "completed"),
                FakeService.task("7")
            )
        }
        let found = try await session.reconnect()
        await listener.isTold("downloaded 1")
        // One that was running ends while the delegate is still told of another.
        fake.tell("task.download_finished", of: 7, "completed")
        fake.tell("task.completed", of: 7, "completed")
        fake.finish(count: 0)
        let running = try #require(found.last).get()
        _ = try await running.result()
        gate.fire()
        await listener.isTold("finished")
        #expect(
            listener.calls == [
                "downloaded 1", "completed 1", "downloaded 2", "completed 2", "downloaded 7",
                "completed 7", "finished",
            ]
        )
        try await session.close()
    }

    @Test func eventsHaveFinishedOnceAllIsTakenOver() async throws {
        let fake = FakeService()
        let listener = Listener()
        let session = session(fake, listener) { request in
            guard request.target == Self.reconnection else { return nil }
            guard request.text.contains(#""cursor":"next""#) else {
                return FakeService.page(
                    FakeService.task("1", state: "completed"),
                    FakeService.task("7"),
                    next: "next"
                )
            }
            fake.report(7, received: 1, expected: 2)
            fake.finish(count: 0)
            await listener.isTold("progress 1")
            // What does not wait for this page is told now.
            for _ in 0..<1000 { await Task.yield() }
            return FakeService.page(FakeService.task("2", state: "completed"))
        }
        _ = try await session.reconnect()
        await listener.isTold("finished")
        #expect(
            listener.calls == [
                "downloaded 1", "completed 1", "progress 1", "downloaded 2", "completed 2",
                "finished",
            ]
        )
        try await session.close()
    }

    /// The answer is repeated when the service is not available at first.
    @Test func asksWhatWasAskedBeforeItReconnects() async throws {
        let fake = FakeService()
        let listener = Listener()
        let answers = Mutex(0)
        let current = Mutex(Self.asking(1))
        let other = FakeService.task(
            "9",
            state: "waiting_for_authentication",
            members: #"""
                "until": "2026-03-08T12:00:00Z", "error": {"domain": "http", "code": "http_status",
                "message": "401", "is_retryable": false,
                "challenges": [{"scheme": "Basic", "realm": "r"}]},
                """#
        )
        let session = session(fake, listener) { request in
            switch request.target {
            case Self.reconnection: return FakeService.page(current.withLock { $0 }, other)
            case "/v1/tasks/7/begin":
                let count = answers.withLock { count in
                    count += 1
                    return count
                }
                if count == 1 { return .problem(.unavailable) }
                current.withLock { $0 = FakeService.task("7", state: "queued") }
                return TransportResponse(200, [current.withLock { $0 }])
            case "/v1/tasks/7": return TransportResponse(200, [current.withLock { $0 }])
            case "/v1/tasks/9/credential": return TransportResponse(200, [FakeService.task("9")])
            default: return nil
            }
        }
        _ = try await session.reconnect()
        await listener.isTold("credential 9 Basic")
        // This event is of the question that has been answered, and the next one of another.
        fake.tell("task.will_begin", of: 7, "waiting_to_begin")
        fake.report(7, received: 1, expected: 3)
        await listener.isTold("progress 1")
        current.withLock { $0 = Self.asking(2) }
        fake.tell("task.will_begin", of: 7, "waiting_to_begin")
        fake.report(7, received: 2, expected: 3)
        await listener.isTold("progress 2")
        #expect(
            listener.calls == [
                "begin 7", "credential 9 Basic", "progress 1", "begin 7", "progress 2",
            ]
        )
        #expect(answers.withLock { $0 } == 3)
        try await session.close()
    }

    @Test func asksOnceWhatSomebodyElseIsToAnswer() async throws {
        let fake = FakeService()
        let listener = Listener(answer: nil)
        let session = session(fake, listener) { request in
            switch request.target {
            case Self.reconnection: return FakeService.page(Self.asking(1))
            case "/v1/tasks/7": return TransportResponse(200, [Self.asking(1)])
            default: return nil
            }
        }
        _ = try await session.reconnect()
        fake.tell("task.will_begin", of: 7, "waiting_to_begin")
        fake.report(7, received: 1, expected: 3)
        await listener.isTold("progress 1")
        #expect(listener.calls == ["begin 7", "progress 1"])
        try await session.close()
    }

    @Test func aProgramWithoutADelegateAnswers() async throws {
        let answers = Mutex(0)
        let session = session(FakeService(), nil) { request in
            switch request.target {
            case Self.reconnection: return FakeService.page(Self.asking(1))
            case "/v1/tasks/7/begin":
                let isFirst = answers.withLock { count in
                    count += 1
                    return count == 1
                }
                // The first one is taken, but that is not known here.
                let cut = TransportFailure(.broken, "The connection ended.")
                if isFirst { return TransportResponse(200, ["{"], failure: cut) }
                return .problem(.taskNotAsked)
            default: return nil
            }
        }
        let task = try #require(try await session.reconnect().first).get()
        try await task.begin(BeginRequest(disposition: .proceed))
        #expect(answers.withLock { $0 } == 2)
        let late = await #expect(throws: TransferError.self) {
            try await task.begin(BeginRequest(disposition: .proceed))
        }
        #expect(late?.problem?.code == .taskNotAsked)
        try await session.close()
    }

    /// It gives its leases back, and nothing that the service tells follows.
    @Test(arguments: ["completed 1", "finished"])
    func aCallbackClosesItsSession(_ closing: String) async throws {
        let fake = FakeService()
        let listener = Listener { session, call in
            guard call == closing else { return nil }
            return await Self.close(session)
        }
        let session = session(fake, listener) { request in
            guard request.target == Self.reconnection else { return nil }
            return FakeService.page(
                FakeService.task("1", state: "completed"),
                FakeService.task("2", state: "completed")
            )
        }
        _ = try await session.reconnect()
        fake.finish(count: 0)
        await listener.hasReturned(from: closing)
        #expect(fake.transport.requests.contains { $0.target == "/v1/leases/lease" })
        session.downloadTask(with: "late").resume()
        await listener.isTold("failed session_closed")
        let all = ["downloaded 1", "completed 1", "downloaded 2", "completed 2", "finished"]
        let told = Array(all.prefix { $0 != closing })
        #expect(listener.calls == told + [closing, "closed", "failed session_closed"])
    }

    /// The close waits for the submission in which the task is refused.
    @Test func theCallbackOfARefusedTaskClosesItsSession() async throws {
        let listener = Listener { session, _ in await Self.close(session) }
        let session = session(FakeService(), listener) { _ in nil }
        session.downloadTask(with: "bad").resume()
        await listener.hasReturned(from: "failed validation_failed")
        #expect(listener.calls == ["failed validation_failed", "closed"])
    }

    /// The session ends while the delegate is still told of the first one.
    @Test func tellsAllThatWasTakenOverBeforeTheEndOfTheSession() async throws {
        let gate = Signal()
        let listener = Listener { _, call in
            if call == "downloaded 1" { await gate.wait() }
            return nil
        }
        let session = session(FakeService(), listener) { request in
            switch request.target {
            case Self.reconnection:
                return FakeService.page(
                    FakeService.task("1", state: "completed"),
                    FakeService.task("2", state: "completed"),
                    FakeService.task("7")
                )
            case "/v1/sessions/s/events":
                await listener.isTold("downloaded 1")
                return TransportResponse(204)
            default: return nil
            }
        }
        let running = try #require(try await session.reconnect().last).get()
        let end = await #expect(throws: TransferError.self) { _ = try await running.result() }
        #expect(end?.code == .sessionClosed)
        gate.fire()
        await listener.isTold("invalid")
        #expect(
            listener.calls == [
                "downloaded 1", "completed 1", "downloaded 2", "completed 2", "invalid",
            ]
        )
    }

    @Test func theEndOfASessionIsToldWithoutACancellation() async throws {
        let listener = Listener()
        let session = session(FakeService(), listener) { request in
            request.target == "/v1/sessions/s/events" ? TransportResponse(204) : nil
        }
        _ = try await session.allTasks
        await listener.hasReturned(from: "invalid")
        #expect(listener.calls == ["invalid"])
    }
}

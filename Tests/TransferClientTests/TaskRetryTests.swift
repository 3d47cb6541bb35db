import Synchronization
import Testing
import TransferClient
import TransferWire

/// Retries whose events come later than their responses.
@Suite(.timeLimit(.minutes(1))) struct TaskRetryTests {
    /// A service whose first task can be cancelled and retried.
    private final class Service: Sendable {
        let fake = FakeService()
        private let state = Mutex("queued")
        private let failures = Mutex(0)

        /// Changes the state of the task, and tells nobody.
        func become(_ newState: String) { state.withLock { $0 = newState } }

        /// Answers the next `count` reads of the task with a failure that passes.
        func failReads(_ count: Int) { failures.withLock { $0 = count } }

        private func takeFailure() -> Bool {
            failures.withLock { count in
                defer { count = max(0, count - 1) }
                return count > 0
            }
        }

        func answer(
            _ request: TransportRequest
        ) async throws(TransportFailure) -> TransportResponse {
            switch (request.method, request.target) {
            case ("POST", "/v1/tasks/0/cancel"): become("cancelled")
            case ("POST", "/v1/tasks/0/retry"): become("queued")
            case ("GET", "/v1/tasks/0"): if takeFailure() { return .problem(.unavailable) }
            default: return try await fake.transport.send(request)
            }
            return TransportResponse(200, [FakeService.task("0", state: state.withLock { $0 })])
        }
    }

    /// Returns a session with a task that the service has accepted.
    private func start(
        _ service: Service
    ) async throws -> (session: TransferSession, task: TransferTask) {
        let transport = ScriptedTransport { request throws(TransportFailure) in
            try await service.answer(request)
        }
        let session = TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: transport.service(),
            delegate: service.fake
        )
        let task = session.downloadTask(with: "a")
        task.resume()
        // An event about it is told once its receipt is there.
        service.fake.report(0, received: 1, expected: 2)
        await service.fake.delegateIsTold("progress 1 of 2")
        return (session, task)
    }

    private func cancelAndRetry(_ task: TransferTask) async throws {
        try await task.cancel()
        let end = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(end?.code == .cancelled)
        try await task.retry()
        #expect(task.state == .running)
    }

    @Test(arguments: [1, 2])
    func anEventFromBeforeARetryDoesNotEndTheTask(rounds: Int) async throws {
        let service = Service()
        let (session, task) = try await start(service)
        for _ in 0..<rounds { try await cancelAndRetry(task) }
        for _ in 0..<rounds {
            service.fake.tell("task.cancelled", of: 0, "cancelled")
            service.fake.tell("task.retried", of: 0, "queued")
        }
        service.fake.tell("task.completed", of: 0, "completed")
        #expect(try await task.result().task == task)
        await service.fake.delegateIsTold("completed")
        let calls = service.fake.calls.withLock { $0 }
        #expect(calls == ["progress 1 of 2", "downloaded", "completed"])
        try await session.close()
    }

    /// The reader of events waits for such a service, too.
    @Test func aServiceThatFailsForAWhileEndsNoTask() async throws {
        let service = Service()
        let (session, task) = try await start(service)
        try await cancelAndRetry(task)
        // More often than a call is repeated.
        service.failReads(5)
        service.fake.tell("task.cancelled", of: 0, "cancelled")
        service.fake.tell("task.retried", of: 0, "queued")
        service.fake.tell("task.completed", of: 0, "completed")
        #expect(try await task.result().task == task)
        await service.fake.delegateIsTold("completed")
        let calls = service.fake.calls.withLock { $0 }
        #expect(calls == ["progress 1 of 2", "downloaded", "completed"])
        try await session.close()
    }

    /// As when somebody else has retried the task before, so that this retry changed nothing.
    @Test func anEndIsKnownAlsoIfNoEventOfTheRetryComes() async throws {
        let service = Service()
        let (session, task) = try await start(service)
        try await cancelAndRetry(task)
        service.become("failed")
        service.fake.tell("task.failed", of: 0, "failed")
        let end = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(end?.code == .unexpectedResponse)
        let failure = "failed: \(try #require(end))"
        await service.fake.delegateIsTold(failure)
        #expect(service.fake.calls.withLock { $0 } == ["progress 1 of 2", failure])
        try await session.close()
    }
}

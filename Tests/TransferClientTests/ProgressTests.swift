import Foundation
import Testing
import TransferClient

@Suite(.timeLimit(.minutes(1))) struct ProgressTests {
    private func session(_ service: FakeService) -> TransferSession {
        TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: service.transport.service(),
            delegate: service
        )
    }

    /// The numbers of tasks, and of those that have ended.
    private func files(_ progress: Progress) -> [Int?] {
        [ProgressUserInfoKey.fileTotalCountKey, .fileCompletedCountKey]
            .map { progress.userInfo[$0] as? Int }
    }

    @Test func givesEachTaskTheSameShare() async throws {
        let service = FakeService()
        let session = session(service)
        let tasks = (0..<4).map { session.downloadTask(with: "\($0)") }
        #expect(session.progress.totalUnitCount == 0 && tasks[0].progress.isIndeterminate)
        for task in tasks { task.resume() }
        #expect(files(session.progress) == [4, 0])
        service.finish(count: 1)
        _ = try await tasks[0].result()
        await service.delegateIsTold("events finished")
        #expect(tasks[0].progress.isFinished && tasks[0].progress.completedUnitCount == 3)
        #expect(tasks[1].progress.isIndeterminate)
        #expect(session.progress.fractionCompleted == 0.25)
        #expect(files(session.progress) == [4, 1])
        try await session.close()
        // What cannot be known any more is over as well.
        #expect(session.progress.isFinished && files(session.progress) == [4, 4])
    }

    @Test func isDoneWithATaskThatWasRefused() async throws {
        let service = FakeService()
        let session = session(service)
        let tasks = ["bad", "a"].map { session.downloadTask(with: $0) }
        for task in tasks { task.resume() }
        _ = try? await tasks[0].result()
        #expect(files(session.progress) == [2, 1])
        #expect(!tasks[0].progress.isFinished)
        try await session.close()
    }

    @Test func countsWhatWasTakenOver() async throws {
        let service = FakeService()
        let session = session(service)
        _ = try await session.reconnect()
        #expect(files(session.progress) == [1, 0])
        try await session.close()
    }

    @Test func agreesWithItsTasksHoweverManyChangeAtOnce() async throws {
        let service = FakeService()
        let session = session(service)
        let tasks = (0..<200).map { session.downloadTask(with: "\($0)") }
        let progress = session.progress
        await withTaskGroup { group in
            for task in tasks { group.addTask { task.resume() } }
        }
        service.finish(count: 200)
        await service.delegateIsTold("events finished")
        #expect(progress.isFinished && progress === session.progress)
        #expect(files(progress) == [200, 200])
        try await session.close()
    }

    /// An origin may answer before it has all of an upload.
    @Test func countsOnlyWhatTheServiceHasSent() async throws {
        let service = FakeService()
        let transport = ScriptedTransport { request throws(TransportFailure) in
            guard request.target == "/v1/tasks/0" else {
                return try await service.transport.send(request)
            }
            return TransportResponse(
                200,
                [FakeService.task("0", state: "completed", sent: 3, of: 9)]
            )
        }
        let session = TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: transport.service(),
            delegate: service
        )
        let task = session.downloadTask(with: "a")
        task.resume()
        service.report(0, received: 1, expected: 2)
        await service.delegateIsTold("progress 1 of 2")
        try await task.refresh()
        #expect(task.state == .completed)
        #expect(task.countOfBytesSent == 3)
        #expect(task.countOfBytesExpectedToSend == 9)
        try await session.close()
    }

    @Test func cancelsItsTask() async throws {
        let service = FakeService()
        let session = session(service)
        let task = session.downloadTask(with: "a")
        task.progress.cancel()
        let error = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(error?.code == .cancelled)
        try await session.close()
    }
}

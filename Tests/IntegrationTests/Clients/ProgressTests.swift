import Foundation
import Testing
import TransferClient
import TransferTestSupport

/// What a client shows while the built program transfers.
@Suite(.timeLimit(.minutes(5))) struct ProgressTests {
    /// Half of a file, and then the other one, which waits also where only the rest is asked for if
    /// it is `held`.
    private static func serve(_ origin: LoopbackOrigin, held: Bool = false) -> OriginGate {
        let gate = OriginGate()
        origin.when("/half") { request in
            .file(
                .random(seed: 1, size: 2_000_000),
                etag: "\"1\"",
                for: request,
                pause: request["Range"] == nil
                    ? (after: 1_000_000, gate: gate) : held ? (after: 0, gate: gate) : nil
            )
        }
        return gate
    }

    @Test func showsTheBytesOfATaskAndTheTasksOfASession() async throws {
        let stage = try await ClientStage()
        let gate = Self.serve(stage.origin)
        let session = stage.session()
        let task = session.downloadTask(with: stage.origin.url("/half"))
        #expect(task.progress.isIndeterminate && session.progress.totalUnitCount == 0)
        let bad = session.downloadTask(with: stage.origin.url("/absent"))
        for task in [task, bad] { task.resume() }
        try await eventually("half of the bytes are shown") {
            task.progress.totalUnitCount == 2_000_000
                && task.progress.completedUnitCount >= 600_000
        }
        #expect(task.progress.fractionCompleted < 1)
        #expect(task.countOfBytesReceived == task.progress.completedUnitCount)
        _ = try? await bad.result()
        try await eventually("one and a part of two tasks are shown") {
            (0.6..<1).contains(session.progress.fractionCompleted)
        }
        gate.open()
        _ = try await task.result()
        try await eventually("all of it is shown") {
            task.progress.isFinished && session.progress.isFinished
        }
        #expect(task.progress.completedUnitCount == 2_000_000)
        #expect(session.progress.userInfo[.fileTotalCountKey] as? Int == 2)
        #expect(session.progress.userInfo[.fileCompletedCountKey] as? Int == 2)
        try await session.close()
        await stage.end()
    }

    @Test func controlsItsTask() async throws {
        let stage = try await ClientStage()
        let gate = Self.serve(stage.origin, held: true)
        let session = stage.session()
        let task = session.downloadTask(with: stage.origin.url("/half"))
        task.resume()
        try await eventually("bytes are shown") { task.progress.completedUnitCount > 0 }
        task.progress.pause()
        try await eventually("it is suspended") { task.state == .suspended }
        task.progress.resume()
        try await eventually("it runs again") { task.state != .suspended }
        task.progress.cancel()
        let error = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(error?.code == .cancelled)
        gate.open()
        try await session.close()
        await stage.end()
    }

    @Test func countsWhatAnUploadHasSent() async throws {
        let stage = try await ClientStage()
        stage.origin.when("/upload") { _ in .response(204) }
        let session = stage.session()
        try Data(count: 500_000).write(to: stage.file("source"))
        let request = TransferRequest(url: stage.origin.url("/upload"))
        let file = session.uploadTask(with: request, fromFile: stage.file("source"))
        let bytes = session.uploadTask(with: request, from: [1, 2, 3])
        for task in [file, bytes] { task.resume() }
        for (task, size) in [(file, 500_000), (bytes, 3)] {
            _ = try await task.result()
            #expect(task.countOfBytesSent == Int64(size))
            #expect(task.countOfBytesExpectedToSend == Int64(size))
            #expect(task.progress.isFinished && task.progress.totalUnitCount == Int64(size))
        }
        try await session.close()
        await stage.end()
    }
}

import Foundation
import Synchronization
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The Swift client against the built program, over each of its transports.
@Suite(.timeLimit(.minutes(5))) struct ClientTests {
    /// Keeps what it is told.
    private final class Listener: TransferSessionDelegate {
        let calls = Mutex<[String]>([])

        func urlSession(
            _ session: TransferSession,
            downloadTask: TransferTask,
            didFinishDownloading result: TransferResult
        ) async { calls.withLock { $0.append("downloaded \(downloadTask.taskDescription ?? "")") } }

        func urlSession(
            _ session: TransferSession,
            task: TransferTask,
            didCompleteWithError error: TransferError?
        ) async {
            let end = error.map { $0.code.rawValue } ?? "completed"
            calls.withLock { $0.append("\(end) \(task.taskDescription ?? "")") }
        }

        func urlSession(
            _ session: TransferSession,
            didBecomeInvalidWithError error: TransferError?
        ) async { calls.withLock { $0.append("invalid") } }

        func urlSessionDidFinishEvents(
            forBackgroundURLSession session: TransferSession
        ) async { calls.withLock { $0.append("finished") } }
    }

    @Test(arguments: ClientTransport.allCases)
    func movesAResultToItsPlaceAndSaysWhyAnotherFailed(_ transport: ClientTransport) async throws {
        let stage = try await ClientStage(transport)
        let body = OriginBody.random(seed: 1, size: 3_000_000)
        stage.origin.when("/file", .response(headers: [("ETag", "\"1\"")], body: body))
        let listener = Listener()
        let session = stage.session(listener)
        let events = session.events
        let good = session.downloadTask(with: stage.origin.url("/file"))
        let bad = session.downloadTask(with: stage.origin.url("/absent"))
        good.taskDescription = "good"
        bad.taskDescription = "bad"
        good.resume()
        bad.resume()
        let result = try await good.result()
        #expect(result.response?.status == 200 && good.state == .completed)
        try Data("old".utf8).write(to: stage.file("result"))
        try await result.moveFile(to: stage.file("result"))
        #expect(try Data(contentsOf: stage.file("result")) == Data(body.bytes))
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.folder.path).count == 1)
        let error = await #expect(throws: TransferError.self) { try await bad.result() }
        #expect(error?.code.rawValue == "http_status" && error?.failure?.httpStatus == 404)
        try await session.finishTasksAndInvalidate()
        try await eventually("the delegate has been told of the end") {
            listener.calls.withLock { $0.last } == "invalid"
        }
        // A stream of its own has the same events, also after the end.
        var types: [String] = []
        for try await event in events { types.append(event.message.type) }
        #expect(types.suffix(2) == ["session.events_finished", "session.invalidated"])
        let calls = listener.calls.withLock { $0 }
        #expect(
            Set(calls) == [
                "downloaded good", "completed good", "http_status bad", "finished", "invalid",
            ]
        )
        #expect(calls.suffix(2) == ["finished", "invalid"])
        await stage.end()
    }

    @Test(arguments: ClientTransport.allCases)
    func uploadsAFileOfThisMachine(_ transport: ClientTransport) async throws {
        let stage = try await ClientStage(transport)
        stage.origin.when("/upload") { request in
            .response(201, body: .text("\(request.method) \(request.body.count)"))
        }
        try Data(count: 1_000_000).write(to: stage.file("source"))
        let session = stage.session()
        let task = session.uploadTask(
            with: TransferRequest(url: stage.origin.url("/upload")),
            fromFile: stage.file("source")
        )
        let short = session.uploadTask(
            with: TransferRequest(url: stage.origin.url("/upload")),
            from: [1, 2, 3]
        )
        let missing = session.uploadTask(
            with: TransferRequest(url: stage.origin.url("/upload")),
            fromFile: stage.file("missing")
        )
        for task in [task, short, missing] { task.resume() }
        let answer = try await task.result().data(upTo: 100)
        #expect(String(decoding: answer, as: UTF8.self) == "PUT 1000000")
        let other = try await short.result().data(upTo: 100)
        #expect(String(decoding: other, as: UTF8.self) == "PUT 3")
        let error = await #expect(throws: TransferError.self) { try await missing.result() }
        #expect(error?.code == .fileFailure)
        // The service does not wait for bytes that cannot come.
        try await eventually("the task has ended at the service") {
            try await stage.service.session("s").outstanding == 0
        }
        try await session.close()
        await stage.end()
    }

    @Test(arguments: ClientTransport.allCases)
    func resumesFromWhatACancelledTaskLeft(_ transport: ClientTransport) async throws {
        let stage = try await ClientStage(transport)
        let body = OriginBody.random(seed: 2, size: 2_000_000)
        let gate = OriginGate()
        stage.origin.when("/cut") { request in
            .file(
                body,
                etag: "\"1\"",
                for: request,
                pause: request["Range"] == nil ? (after: 1_000_000, gate: gate) : nil
            )
        }
        let session = stage.session()
        let task = session.downloadTask(with: stage.origin.url("/cut"))
        task.resume()
        try await eventually("half of it is there") { task.countOfBytesReceived >= 600_000 }
        let data = try #require(try await task.cancelByProducingResumeData())
        let error = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(error?.code == .cancelled)
        var request = TransferRequest(url: stage.origin.url("/cut"))
        request.resumeData = data
        let second = session.downloadTask(with: request)
        second.resume()
        let bytes = try await second.result().data(upTo: body.count)
        #expect(bytes == Data(body.bytes))
        #expect(stage.origin.log.now.requests(at: "/cut").last?["Range"] != nil)
        gate.open()
        try await session.close()
        await stage.end()
    }

    @Test(arguments: ClientTransport.allCases)
    func suspendsChangesListsAndTakesOver(_ transport: ClientTransport) async throws {
        let stage = try await ClientStage(transport)
        let session = stage.session()
        let later = session.downloadTask(with: stage.origin.url("/absent"))
        later.taskDescription = "later"
        later.earliestBeginDate = .distantFuture
        later.priority = 0.75
        later.resume()
        // Its list has the task whether or not it has been accepted yet.
        #expect(try await session.allTasks.contains(later))
        try await eventually("the task is accepted") { later.taskIdentifier != nil }
        try await later.change(TaskPatchRequest(clientPersistedString: .some("changed")))
        #expect(later.taskDescription == "changed")
        try await later.suspend()
        #expect(later.state == .suspended)
        later.resume()
        try await eventually("the task waits again") {
            try await later.refresh().state == "scheduled"
        }
        try await session.close()

        let next = stage.session()
        let taken = try await next.reconnect(owner: "test").compactMap { try? $0.get() }
        #expect(taken.map(\.taskDescription) == ["changed"])
        #expect(taken.first?.priority == 0.75 && taken.first?.serviceState == "scheduled")
        // It is held until it is given back.
        #expect(try await stage.session().reconnect().isEmpty)
        try await next.close()
        let last = stage.session()
        #expect(try await last.reconnect().count == 1)
        try await last.invalidateAndCancel()
        let gone = await #expect(throws: TransferError.self) {
            try await stage.service.session("s")
        }
        #expect(gone?.problem?.code == .unknownSession)
        await stage.end()
    }

    @Test(arguments: ClientTransport.allCases)
    func survivesARestartOfTheService(_ transport: ClientTransport) async throws {
        let stage = try await ClientStage(transport)
        let gate = OriginGate()
        let body = OriginBody.random(seed: 3, size: 100_000)
        stage.origin.when("/slow", .gated(body, after: 10, gate, headers: [("ETag", "\"1\"")]))
        let session = stage.session()
        let task = session.downloadTask(with: stage.origin.url("/slow"))
        task.resume()
        await stage.origin.log.arrived(1, at: "/slow")
        _ = await stage.process.killNow()
        let port = "\(stage.process.announcement.port)"
        let second = try await ServiceProcess(in: stage.directory, ["--port", port])
        gate.open()
        #expect(try await task.result().data(upTo: body.count) == Data(body.bytes))
        try await session.close()
        stage.origin.stop()
        #expect(await second.terminate() == 0)
    }
}

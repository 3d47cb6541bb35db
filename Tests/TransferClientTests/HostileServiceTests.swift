import Foundation
import Synchronization
import Testing
import TransferTestSupport
import TransferWire

@testable import TransferClient

/// Whatever a service answers, or a program asks for, a client goes on or throws: no number is too
/// large for it.
@Suite(.timeLimit(.minutes(1))) struct HostileServiceTests {
    private func session(
        _ service: FakeService,
        _ transport: ScriptedTransport? = nil
    ) -> TransferSession {
        TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: (transport ?? service.transport).service(),
            delegate: service
        )
    }

    @Test func takesAnyCountOfBytes() async throws {
        let service = FakeService()
        let session = session(service)
        let task = session.downloadTask(with: "a")
        let progress = [task.progress, session.progress]
        task.resume()
        await service.submissionIsAnswered()
        for (received, expected) in [
            (.min, 1), (-5, 10), (.max, 1), (.max, .min), (0, 0), (.max, .max),
        ] as [(Int64, Int64)] {
            service.report(0, received: received, expected: expected)
        }
        service.finish(count: 1)
        _ = try await task.result()
        await service.delegateIsTold("events finished")
        #expect(progress.allSatisfy { $0.isFinished })
        let largest = "progress \(Int64.max) of \(Int64.max)"
        #expect(service.calls.withLock { $0.contains(largest) })
        try await session.close()
    }

    /// Which of the tasks the receipts are for, nobody could tell.
    @Test(arguments: [#"{"items":[]}"#, #"{"items":[\#(receipt),\#(receipt),\#(receipt)]}"#])
    func takesNoReceiptsThatAreNotOneForEachTask(receipts: String) async throws {
        let service = FakeService()
        let transport = ScriptedTransport { request throws(TransportFailure) in
            guard request.method == "POST" else { return try await service.transport.send(request) }
            return TransportResponse(202, [receipts])
        }
        let session = session(service, transport)
        let tasks = ["a", "b"].map { session.downloadTask(with: $0) }
        for task in tasks { task.resume() }
        for task in tasks {
            let error = await #expect(throws: TransferError.self) { try await task.result() }
            #expect(error?.code == .unexpectedResponse)
        }
        try await session.close()
    }

    private static let receipt =
        #"{"id":"0","kind":"download","session_identifier":"s","state":"queued","location":"/"}"#

    /// The tasks that are resumed later may have no such fault.
    @Test(arguments: [ProblemDetails.Code.internalError, .queueFull])
    func oneSubmissionThatFailsHoldsUpNoOthers(_ code: ProblemDetails.Code) async throws {
        let service = FakeService()
        let count = Atomic(0)
        let transport = ScriptedTransport { request throws(TransportFailure) in
            guard request.method == "POST" else { return try await service.transport.send(request) }
            count.wrappingAdd(1, ordering: .relaxed)
            return .problem(code)
        }
        let session = session(service, transport)
        let task = session.downloadTask(with: "a")
        task.resume()
        let error = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(error?.problem?.code == code)
        #expect(count.load(ordering: .relaxed) == 4)
        try await session.close()
    }

    @Test func sendsNothingFromBeforeTheStartOfAFile() async throws {
        let service = FakeService()
        let transport = ScriptedTransport { request throws(TransportFailure) in
            switch (request.method, request.target) {
            case ("PUT", "/v1/tasks/7/body"): throw TransportFailure(.broken, "cut")
            case ("GET", "/v1/tasks/7/body"):
                TransportResponse(204, headers: [("Upload-Offset", "-5")])
            default: try await service.transport.send(request)
            }
        }
        let session = session(service, transport)
        let task = try #require(try await session.reconnect().compactMap { try? $0.get() }.first)
        let error = await #expect(throws: TransferError.self) {
            try await task.sendBody(fromFile: URL(filePath: #filePath))
        }
        #expect(error?.code == .unexpectedResponse)
        try await session.close()
    }

    /// Sends a file of three bytes with requests that `answers` are for, and returns these.
    ///
    /// The service has `arrived` bytes after the first of them.
    private func sendBody(
        arrived: Int,
        _ answers: [TransportResponse]
    ) async throws -> [TransportRequest] {
        let folder = try TestFolder("body")
        try folder.write("abc", to: "file")
        let service = FakeService()
        let rest = Mutex(answers)
        let transport = ScriptedTransport { request throws(TransportFailure) in
            switch (request.method, request.target) {
            case ("PUT", "/v1/tasks/7/body"): return rest.withLock { $0.removeFirst() }
            case ("GET", "/v1/tasks/7/body"):
                return TransportResponse(204, headers: [("Upload-Offset", "\(arrived)")])
            case ("GET", "/v1/tasks/7"): return TransportResponse(200, [FakeService.task("7")])
            default: return try await service.transport.send(request)
            }
        }
        let session = session(service, transport)
        let task = try #require(try await session.reconnect().compactMap { try? $0.get() }.first)
        try await task.sendBody(fromFile: URL(filePath: "\(folder.path)/file"))
        try await session.close()
        return transport.requests.filter { $0.method == "PUT" && $0.target.hasSuffix("/body") }
    }

    /// Without a range, a request without a byte would be an empty upload.
    @Test(arguments: [(0, "0-2"), (1, "1-2"), (3, "*"), (5, "0-2")])
    func repeatsOnlyWhatIsMissingOfABody(arrived: Int, range: String) async throws {
        let done = TransportResponse(200, [FakeService.task("7")])
        let requests = try await sendBody(arrived: arrived, [.problem(.unavailable), done])
        let ranges = requests.map { $0.header("Content-Range") }
        #expect(ranges == ["bytes 0-2/3", "bytes \(range)/3"])
        let last = try #require(requests.last)
        if case .file = last.body { #expect(range != "*") }
    }

    @Test func waitsForARequestThatStillBringsItsBody() async throws {
        let requests = try await sendBody(
            arrived: 3,
            [.problem(.unavailable), .problem(.bodyInUse), .problem(.bodyNotExpected)]
        )
        let ranges = requests.map { $0.header("Content-Range") }
        #expect(ranges == ["bytes 0-2/3", "bytes */3", "bytes */3"])
    }

    /// A program may exit as soon as it is told, and nobody would bring the bytes.
    @Test func cancelsAnUploadWithoutAFileBeforeItTells() async throws {
        let service = FakeService()
        let toldBefore = Mutex<[String]?>(nil)
        let transport = ScriptedTransport { request throws(TransportFailure) in
            guard request.target == "/v1/tasks/0/cancel" else {
                return try await service.transport.send(request)
            }
            let told = service.calls.withLock { $0 }
            toldBefore.withLock { $0 = told }
            return TransportResponse(200, [FakeService.task("0", state: "cancelled")])
        }
        let session = session(service, transport)
        let task = session.uploadTask(
            with: TransferRequest(url: "a"),
            fromFile: URL(filePath: "/nofile")
        )
        task.resume()
        let error = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(error?.code == .fileFailure)
        #expect(error?.message == "/nofile cannot be read: No such file or directory")
        #expect(toldBefore.withLock { $0 } == [])
        try await session.close()
    }

    /// Resumes an upload, and returns once its file is being sent to a service that takes it when
    /// `gate` is open.
    private func heldUpload(
        _ service: FakeService,
        _ folder: TestFolder,
        until gate: Signal,
        seeing cancellations: Signal
    ) async throws -> TransferTask {
        try folder.write("abc", to: "file")
        let isSending = Signal()
        let transport = ScriptedTransport { request throws(TransportFailure) in
            switch request.target {
            case "/v1/tasks/0/body":
                isSending.fire()
                await gate.wait()
                return TransportResponse(200, [FakeService.task("0")])
            case "/v1/tasks/0/cancel":
                cancellations.fire()
                return TransportResponse(200, [FakeService.task("0", state: "cancelled")])
            default: return try await service.transport.send(request)
            }
        }
        let session = session(service, transport)
        let task = session.uploadTask(
            with: TransferRequest(url: "a"),
            fromFile: URL(filePath: "\(folder.path)/file")
        )
        task.resume()
        await isSending.wait()
        try await session.submitter.awaitAnswers()
        return task
    }

    /// Nobody else can send them, and the program may exit.
    @Test func closesOnceTheFilesOfItsUploadsAreSent() async throws {
        let (service, gate) = (FakeService(), Signal())
        let folder = try TestFolder("upload")
        let task = try await heldUpload(service, folder, until: gate, seeing: Signal())
        let close = Task { try await task.session.close() }
        close.cancel()
        let error = await #expect(throws: TransferError.self) { try await close.value }
        #expect(error?.code == .cancelled)
        #expect(task.state == .running && task.serviceState == "queued")
        gate.fire()
        try await task.session.close()
        #expect(task.serviceState == "running")
    }

    @Test func sendsNoFileOfATaskThatWasCancelled() async throws {
        let (service, isCancelled) = (FakeService(), Signal())
        let folder = try TestFolder("upload")
        let task = try await heldUpload(service, folder, until: Signal(), seeing: isCancelled)
        try await task.cancel()
        await isCancelled.wait()
        // It would wait for the file.
        try await task.session.close()
        let end = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(end?.code == .cancelled)
    }

    @Test func pausesHoweverShortAPauseTheServiceAsksFor() async throws {
        let stream = [("Content-Type", "text/event-stream")]
        let last = """
            data: {"id":"e","type":"session.invalidated","timestamp":"2026-03-01T12:00:00Z",\
            "version":1,"data":{"sequence":1,"generation":1}}


            """
        let rest = Mutex(
            [TransportResponse(200, ["retry: -60000\n\n"], headers: stream)]
                + Array(repeating: TransportResponse.problem(.unavailable), count: 6)
                + [TransportResponse(200, [last], headers: stream)]
        )
        let transport = ScriptedTransport { _ in rest.withLock { $0.removeFirst() } }
        let start = ContinuousClock.now
        let events = TransferEvents(
            service: transport.service(attemptsMax: 1),
            sessionIdentifier: "s"
        )
        for try await _ in events {}
        // Half of 1, 1, 2, 4, 8, 16 and 32 ms at least.
        #expect(ContinuousClock.now - start >= .milliseconds(32))
    }

    @Test func goesOnWhereverTheOldestEventIs() async throws {
        let service = FakeService()
        let streams = Atomic(0)
        let transport = ScriptedTransport { request throws(TransportFailure) in
            guard request.target.hasSuffix("/events") else {
                return try await service.transport.send(request)
            }
            guard streams.wrappingAdd(1, ordering: .relaxed).newValue == 1 else {
                return .problem(.unknownSession)
            }
            return TransportResponse(
                410,
                [
                    #"{"type": "t", "title": "Expired", "status": 410, "code": "events_expired", "#,
                    #""request_id": "r", "oldest_sequence": \#(Int64.min)}"#,
                ]
            )
        }
        let session = session(service, transport)
        _ = try await session.reconnect()
        await service.delegateIsTold("invalid")
        let cursors = transport.requests.filter { $0.target.hasSuffix("/events") }
            .map { $0.header("Last-Event-ID") }
        #expect(cursors == ["s:0", "s:0"])
    }

    @Test func refusesWhatJSONCannotHold() async throws {
        let service = FakeService()
        let session = session(service)
        let good = session.downloadTask(with: "good")
        let priority = session.downloadTask(with: "priority")
        priority.priority = .nan
        let date = session.downloadTask(with: "date")
        date.earliestBeginDate = Date(timeIntervalSince1970: 1_800_000_000_000)
        var request = TransferRequest(url: "option")
        request.options["rate"] = .number(.infinity)
        let option = session.downloadTask(with: request)
        for task in [priority, date, option, good] { task.resume() }
        for task in [priority, date, option] {
            let error = await #expect(throws: TransferError.self) { try await task.result() }
            #expect(error?.code == .misconfigured)
        }
        service.finish(count: 1)
        _ = try await good.result()
        let patch = TaskPatchRequest(priority: .some(.nan))
        let error = await #expect(throws: TransferError.self) { try await good.change(patch) }
        #expect(error?.code == .misconfigured)
        try await session.close()
    }
}

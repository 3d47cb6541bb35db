import Foundation
import Synchronization
import Testing
import TransferClient
import TransferWire

@Suite(.timeLimit(.minutes(1))) struct TransferSessionTests {
    private func session(_ service: FakeService) -> TransferSession {
        TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: service.transport.service(),
            delegate: service
        )
    }

    /// Returns a session that has no delegate, with the settings that `change` makes.
    private func session(
        _ service: FakeService,
        _ change: (inout TransferSessionConfiguration) -> Void
    ) -> TransferSession {
        var configuration = TransferSessionConfiguration.background(withIdentifier: "s")
        change(&configuration)
        return TransferSession(configuration: configuration, service: service.transport.service())
    }

    /// Resumes a task, and returns once its request is under way, so that others wait for its
    /// response.
    private func heldTask(
        of session: TransferSession,
        _ service: FakeService
    ) async -> TransferTask {
        service.holdsReceipts.withLock { $0 = true }
        let task = session.downloadTask(with: "http://origin/first")
        task.resume()
        await service.receiptsAreHeld()
        return task
    }

    /// What is resumed while a request is under way, or within a turn, goes with one request.
    @Test func submitsManyTasksWithOneRequest() async throws {
        let service = FakeService()
        let session = session(service)
        let first = await heldTask(of: session, service)
        let tasks = (0..<50).map { number in
            let task = session.downloadTask(with: "http://origin/\(number)")
            task.taskDescription = "\(number)"
            task.priority = 1
            task.earliestBeginDate = Date(timeIntervalSince1970: 1_772_366_400)
            #expect(task.state == .suspended && task.taskIdentifier == nil)
            return task
        }
        for task in tasks { task.resume() }
        service.releaseReceipts()
        service.finish(count: 51)
        for task in [first] + tasks { _ = try await task.result() }
        let submissions = service.transport.requests.filter { $0.method == "POST" }
        #expect(submissions.count == 2)
        #expect(submissions.last?.target == "/v1/sessions/s/tasks")
        #expect(
            submissions.last?.text.hasPrefix(
                #"[{"client_persisted_string":"0","earliest_begin_at":"#
                    + #""2026-03-01T12:00:00.000000Z","kind":"download","priority":1,"#
                    + #""url":"http://origin/0"},"#
            ) == true
        )
        try await session.close()
    }

    /// One that is too long for the service would be refused as a whole.
    @Test func submitsLongTasksWithSeveralRequests() async throws {
        let service = FakeService()
        let session = session(service)
        let first = await heldTask(of: session, service)
        let tasks = (0..<70).map { number in
            let task = session.downloadTask(with: "http://origin/\(number)")
            task.taskDescription = String(repeating: "x", count: 64 << 10)
            return task
        }
        for task in tasks { task.resume() }
        service.releaseReceipts()
        service.finish(count: 71)
        for task in [first] + tasks { _ = try await task.result() }
        let submissions = service.transport.requests.filter { $0.method == "POST" }
        #expect(submissions.count == 3)
        #expect(submissions.allSatisfy { $0.text.utf8.count <= 4 << 20 })
        try await session.close()
    }

    @Test func missesNoEventThatComesBeforeItsReceipt() async throws {
        let service = FakeService()
        // The events of both tasks are on their way before the submission is answered.
        service.finish(count: 2)
        service.holdsReceipts.withLock { $0 = true }
        let session = session(service)
        let tasks = ["a", "b"].map { session.downloadTask(with: $0) }
        for task in tasks { task.resume() }
        await service.eventsAreSent()
        service.releaseReceipts()
        for task in tasks { #expect(try await task.result().task == task) }
        try await session.close()
    }

    @Test func submitsWhatWasResumedBeforeItCloses() async throws {
        let service = FakeService()
        let session = session(service)
        let tasks = ["a", "b"].map { session.downloadTask(with: $0) }
        for task in tasks { task.resume() }
        try await session.close()
        #expect(tasks.map(\.taskIdentifier) == ["0", "1"])
    }

    @Test func givesEachTaskOneHandle() async throws {
        let service = FakeService()
        service.holdsReceipts.withLock { $0 = true }
        let session = session(service)
        let task = session.downloadTask(with: "a")
        task.resume()
        // The service has accepted it, and lists it, before its receipt has come.
        await service.receiptsAreHeld()
        async let all = session.allTasks
        await service.tasksAreListed()
        service.releaseReceipts()
        let tasks = try await all
        #expect(tasks.map(\.taskIdentifier) == ["0", "9"])
        #expect(tasks.first === task)
        try await session.close()
    }

    @Test func failsOnlyTheTaskThatIsWrong() async throws {
        let service = FakeService()
        let session = session(service)
        let tasks = ["a", "bad", "c"].map { session.downloadTask(with: $0) }
        for task in tasks { task.resume() }
        service.finish(count: 2)
        let error = await #expect(throws: TransferError.self) { try await tasks[1].result() }
        #expect(error?.faults.map(\.pointer) == ["/url"])
        _ = try await tasks[0].result()
        _ = try await tasks[2].result()
        try await session.close()
    }

    @Test func oneThatIsWrongAndAloneIsToldTheSame() async throws {
        let service = FakeService()
        let session = session(service)
        let task = session.downloadTask(with: "bad")
        task.resume()
        let error = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(error?.faults.map(\.pointer) == ["/url"])
        try await session.close()
    }

    @Test func tellsItsDelegateInTheOrderOfURLSession() async throws {
        let service = FakeService()
        let session = session(service)
        let task = session.downloadTask(with: "a")
        task.resume()
        service.finish(count: 1)
        _ = try await task.result()
        await service.delegateIsTold("events finished")
        #expect(
            service.calls.withLock { $0 } == [
                "progress 3 of 3", "downloaded", "completed", "events finished",
            ]
        )
        // Calls do not wait for this one.
        let long = service.transport.requests.filter(\.isLong)
        #expect(long.map(\.target) == ["/v1/sessions/s/events"])
        try await session.close()
    }

    @Test func endsEveryWaitWithTheSession() async throws {
        let service = FakeService()
        let session = session(service)
        let task = session.downloadTask(with: "a")
        task.resume()
        await service.submissionIsAnswered()
        try await session.close()
        let error = await #expect(throws: TransferError.self) { try await task.result() }
        #expect(error?.code == .sessionClosed)
        let late = session.downloadTask(with: "b")
        late.resume()
        let refused = await #expect(throws: TransferError.self) { try await late.result() }
        #expect(refused?.code == .sessionClosed)
    }

    /// Of the events that it has not read the service has none any more, only those of another one.
    @Test(arguments: [FakeService.session(id: "t"), nil])
    func endsWhenItsNameIsAnothersOrNobodys(session found: String?) async throws {
        let fake = FakeService()
        let isFollowed = Signal()
        let transport = ScriptedTransport { request throws(TransportFailure) in
            switch (request.method, request.target) {
            case ("GET", "/v1/sessions/s"):
                return found.map { TransportResponse(200, [$0]) } ?? .problem(.unknownSession)
            case ("GET", "/v1/sessions/s/events"):
                await isFollowed.wait()
                return .problem(.eventsExpired, oldestSequence: 1)
            case ("GET", let target) where target.hasPrefix("/v1/tasks/"):
                let id = String(target.dropFirst("/v1/tasks/".count))
                return TransportResponse(200, [FakeService.task(id, state: "cancelled")])
            default: return try await fake.transport.send(request)
            }
        }
        let session = TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: transport.service(),
            delegate: fake
        )
        let tasks = try await session.allTasks
        isFollowed.fire()
        await fake.delegateIsTold("invalid")
        #expect(tasks.count == 2 && tasks.allSatisfy { $0.state == .completed })
        #expect(transport.requests.count { $0.target == "/v1/sessions/s/events" } == 1)
    }

    @Test func renewsItsLeasesAndGivesThemBack() async throws {
        let service = FakeService()
        let session = session(service) { $0.leaseDuration = .seconds(1) }
        let found = try await session.reconnect(owner: "test")
        #expect(found.count == 2)
        guard case .success(let task) = found[0], case .failure(let failure) = found[1] else {
            Issue.record("\(found)")
            return
        }
        #expect(task.taskDescription == "mine" && task.state == .running)
        #expect(failure.kind == .versionMismatch && failure.taskIdentifier == "8")
        await service.leaseIsRenewed()
        try await session.close()
        let returned = service.transport.requests.filter { $0.method == "DELETE" }
        #expect(returned.map(\.target) == ["/v1/leases/lease"])
    }

    @Test func sendsTimesAsTheyWereGiven() async throws {
        let service = FakeService()
        let session = session(service) {
            $0.timeoutIntervalForResource = .seconds(3599)
            $0.timeoutIntervalForRequest = .milliseconds(1118)
        }
        session.downloadTask(with: "a").resume()
        await service.submissionIsAnswered()
        try await session.close()
        let text = service.transport.requests.first { $0.method == "PUT" }?.text ?? ""
        #expect(text.contains(#""timeout_for_resource":3599"#) && !text.contains("3599.0000"))
        #expect(text.contains(#""timeout_for_request":1.118"#) && !text.contains("1.1180"))
    }

    @Test func ownsWhatItSubmitsIfItHasAName() async throws {
        let service = FakeService()
        let session = session(service) {
            $0.owner = "pod-7"
            $0.leaseDuration = .seconds(30)
        }
        session.downloadTask(with: "a").resume()
        await service.submissionIsAnswered()
        session.downloadTask(with: "b").resume()
        try await session.close()
        let requests = service.transport.requests
        let submissions = requests.filter { $0.target == "/v1/sessions/s/tasks" }
        #expect(submissions.count == 2)
        func values(_ name: String) -> [String?] {
            submissions.map { request in request.headers.first { $0.name == name }?.value }
        }
        #expect(values("Lease-Owner") == ["pod-7", "pod-7"])
        #expect(values("Lease-Seconds") == ["30", "30"])
        let token = try #require(values("Lease-Token")[0])
        #expect(values("Lease-Token")[1] == token)
        #expect(requests.last?.target == "/v1/leases/\(token)")
        #expect(requests.last?.method == "DELETE")
    }

    @Test func submitsWithoutALeaseIfItHasNoName() async throws {
        let service = FakeService()
        let session = session(service)
        session.downloadTask(with: "a").resume()
        await service.submissionIsAnswered()
        try await session.close()
        let fields = service.transport.requests.flatMap(\.headers).map(\.name)
        #expect(!fields.contains { $0.hasPrefix("Lease") })
    }

    /// Returns a session whose service responds as `respond` says, and like `fake` to all else.
    private func session(
        of fake: FakeService,
        _ respond: @escaping FakeService.Respond
    ) -> TransferSession {
        TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: fake.service(answering: respond),
            delegate: fake
        )
    }

    /// Longer than any other call is repeated.
    @Test func submitsWithTheSameKeyUntilTheServiceIsBack() async throws {
        let fake = FakeService()
        let creations = Atomic(0)
        let keys = Mutex<[String?]>([])
        let session = session(of: fake) { request in
            switch (request.method, request.target) {
            case ("PUT", _):
                let count = creations.wrappingAdd(1, ordering: .relaxed).newValue
                return count <= 10 ? TransportResponse(502) : nil
            case ("POST", "/v1/sessions/s/tasks"):
                let count = keys.withLock { keys in
                    keys.append(request.header("Idempotency-Key"))
                    return keys.count
                }
                return count <= 10 ? TransportResponse.problem(.unavailable) : nil
            default: return nil
            }
        }
        let task = session.downloadTask(with: "a")
        task.resume()
        fake.finish(count: 1)
        _ = try await task.result()
        let seen = keys.withLock { $0 }
        #expect(seen.count == 11 && Set(seen).count == 1 && seen[0] != nil)
        try await session.close()
    }

    @Test func cancelsWhatHasNoReceiptYet() async throws {
        let fake = FakeService()
        let submissions = Atomic(0)
        let session = session(of: fake) { request in
            switch request.target {
            case "/v1/sessions/s/tasks":
                submissions.wrappingAdd(1, ordering: .relaxed)
                return nil
            case "/v1/tasks/0/cancel":
                return TransportResponse(200, [FakeService.task("0", state: "cancelled")])
            default: return nil
            }
        }
        let sent = await heldTask(of: session, fake)
        let waiting = session.downloadTask(with: "http://origin/second")
        waiting.resume()
        try await waiting.cancel()
        #expect(waiting.state == .completed && waiting.error?.code == .cancelled)
        await fake.delegateIsTold("failed: cancelled: The task was cancelled.")
        let caller = Task { try await sent.cancel() }
        caller.cancel()
        let error = await #expect(throws: TransferError.self) { try await caller.value }
        #expect(error?.code == .cancelled && sent.state == .running)
        async let cancellation: Void = sent.cancel()
        fake.releaseReceipts()
        try await cancellation
        #expect(sent.state == .completed && sent.error?.code == .cancelled)
        try await session.close()
        #expect(submissions.load(ordering: .relaxed) == 1)
    }

    /// The creation of the session belongs to all calls, and is not answered.
    @Test func everyCallEndsWithItsCaller() async throws {
        let (asked, gate) = (Signal(), Signal())
        let session = session(of: FakeService()) { request in
            guard request.method == "PUT" else { return nil }
            asked.fire()
            await gate.wait()
            return nil
        }
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await session.reconnect() },
            { _ = try await session.allTasks },
            { try await session.finishTasksAndInvalidate() },
            { try await session.invalidateAndCancel() },
            {
                session.downloadTask(with: "a").resume()
                try await session.close()
            },
        ]
        for call in calls {
            let caller = Task { try await call() }
            await asked.wait()
            caller.cancel()
            let error = await #expect(throws: TransferError.self) { try await caller.value }
            #expect(error?.code == .cancelled)
        }
        gate.fire()
        try await session.close()
    }

    @Test func aWaitThatIsCancelledLeavesTheTaskAlone() async throws {
        let service = FakeService()
        let session = session(service)
        let task = session.downloadTask(with: "a")
        let wait = Task { try await task.result() }
        wait.cancel()
        let error = await #expect(throws: TransferError.self) { try await wait.value }
        #expect(error?.code == .cancelled)
        task.resume()
        service.finish(count: 1)
        _ = try await task.result()
        try await session.close()
    }
}

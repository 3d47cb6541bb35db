import Synchronization
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// How long a session holds the tasks that are its own.
@Suite(.timeLimit(.minutes(1))) struct LeaseTests {
    /// A delegate that notes which failures end no task.
    private final class Listener: TransferSessionDelegate {
        private let seen = Mutex<[String]>([])
        private let signal = Signal()

        var codes: [String] { seen.withLock { $0 } }
        func isTold() async { await signal.wait() }

        func urlSession(
            _ session: TransferSession,
            task: TransferTask?,
            didFailWithoutEnding error: TransferError
        ) async {
            seen.withLock { $0.append(error.code.rawValue) }
            signal.fire()
        }
    }

    /// The calls of one kind so far.
    private final class Count: Sendable {
        private let count = Mutex((value: 0, awaited: [(Int, Signal)]()))

        /// Counts one, and returns its number.
        @discardableResult func add() -> Int {
            let (value, signals) = count.withLock { count in
                count.value += 1
                return (count.value, count.awaited.filter { $0.0 <= count.value }.map(\.1))
            }
            for signal in signals { signal.fire() }
            return value
        }

        var value: Int { count.withLock(\.value) }

        /// Waits until there have been `more` of them.
        func reaches(more: Int) async {
            let signal = Signal()
            count.withLock { $0.awaited.append(($0.value + more, signal)) }
            await signal.wait()
        }
    }

    /// Returns a session whose service responds as `respond` says, and like `fake` to all else.
    private func session(
        _ fake: FakeService,
        _ listener: Listener? = nil,
        for duration: Duration = .seconds(60),
        owner: String? = nil,
        submittingFor patience: Duration = .seconds(60),
        _ respond: @escaping FakeService.Respond
    ) -> TransferSession {
        var configuration = TransferSessionConfiguration.background(withIdentifier: "s")
        configuration.leaseDuration = duration
        configuration.owner = owner
        configuration.timeoutIntervalForSubmission = patience
        return TransferSession(
            configuration: configuration,
            service: fake.service(answering: respond),
            delegate: listener
        )
    }

    /// The answer to a renewal.
    private static func renewed(_ tasks: Int) -> TransportResponse {
        TransportResponse(200, [#"{"lease_token": "lease", "tasks": \#(tasks)}"#])
    }

    /// Answers nothing until the caller gives up.
    private static func swallow() async { await Signal().wait() }

    private static let lease = "/v1/leases/lease"

    @Test func aRenewalThatIsLostOnTheWayIsSentAgain() async throws {
        let listener = Listener()
        let (first, renewals) = (Signal(), Count())
        let session = session(FakeService(), listener, for: .seconds(6)) { request in
            guard request.method == "PATCH" else { return nil }
            if renewals.add() == 1 {
                first.fire()
                await Self.swallow()
            }
            return Self.renewed(2)
        }
        _ = try await session.reconnect()
        await first.wait()
        if renewals.value < 2 { await renewals.reaches(more: 1) }
        #expect(listener.codes.isEmpty)
        try await session.close()
    }

    /// A process may follow many sessions, and read many results at once.
    @Test(arguments: TransportTests.Library.allCases)
    func renewalsDoNotWaitForWhatLasts(_ library: TransportTests.Library) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        origin.when("/long", .gated(.text("0123456789"), after: 1, gate))
        origin.when("/call", .response(body: .text("now")))
        func send(_ path: String, isLong: Bool) async throws -> TransportResponse {
            try await library.transport.send(
                TransportRequest(
                    method: "GET",
                    url: origin.url(path),
                    timeout: .seconds(60),
                    isLong: isLong
                )
            )
        }
        var responses: [TransportResponse] = []
        for _ in 0...AsyncHTTPTransport.connectionsMax {
            responses.append(try await send("/long", isLong: true))
        }
        #expect(try await send("/call", isLong: false).status == 200)
        gate.open()
        for response in responses { #expect(response.status == 200) }
    }

    /// Loses a lease because no renewal is answered, and returns what is told when it ends.
    private func loseLease(of duration: Duration) async throws -> [String] {
        let listener = Listener()
        let session = session(FakeService(), listener, for: duration) { request in
            guard request.method == "PATCH" else { return nil }
            await Self.swallow()
            return nil
        }
        _ = try await session.reconnect()
        await listener.isTold()
        try await session.close()
        return listener.codes
    }

    @Test func tellsTheLossAtTheEndOfTheLease() async throws {
        let codes = try await loseLease(of: .seconds(1))
        #expect(codes == [TransferError.Code.timedOut.rawValue])
    }

    /// Nobody may have taken what a process holds that was late.
    @Test(arguments: [1, 0]) func asksAfterTheEndWhatItStillHolds(_ held: Int) async throws {
        let (fake, listener) = (FakeService(), Listener())
        let renewals = Count()
        fake.holdsReceipts.withLock { $0 = true }
        let session = session(fake, listener, for: .seconds(1), owner: "pod-7") { request in
            guard request.method == "PATCH" else { return nil }
            renewals.add()
            return Self.renewed(held)
        }
        let task = session.downloadTask(with: "a")
        task.resume()
        await fake.receiptsAreHeld()
        // When another lease, of two seconds, has ended, this one has as well.
        _ = try await loseLease(of: .seconds(2))
        fake.releaseReceipts()
        if held == 0 { await listener.isTold() } else { await renewals.reaches(more: 2) }
        #expect(listener.codes == (held == 0 ? ["unknown_lease"] : []))
        try await session.close()
    }

    /// A lease whose tasks are removed is nobody's loss.
    @Test func tellsOfALostLeaseThatHasTasks() async throws {
        let (fake, listener) = (FakeService(), Listener())
        let isRemoved = Mutex(false)
        let session = session(fake, listener, for: .seconds(1), owner: "pod-7") { request in
            switch (request.method, request.target) {
            case ("DELETE", "/v1/tasks/0"):
                isRemoved.withLock { $0 = true }
                return TransportResponse(204)
            case ("PATCH", let target):
                guard isRemoved.withLock({ $0 }) else { return Self.renewed(2) }
                return .problem(target == Self.lease ? .unknownRoute : .unknownLease)
            default: return nil
            }
        }
        let found = try await session.reconnect()
        #expect(found.count == 2)
        let task = session.downloadTask(with: "a")
        task.resume()
        fake.finish(count: 1)
        _ = try await task.result()
        try await task.remove()
        await listener.isTold()
        #expect(listener.codes == ["unknown_route"])
        try await session.close()
    }

    /// Ends a task of a session, whose handle nobody has afterwards.
    private func endTask(
        of session: TransferSession,
        _ fake: FakeService,
        isRemoved: Bool
    ) async throws {
        let task = session.downloadTask(with: "a")
        task.resume()
        fake.finish(count: 1)
        _ = try await task.result()
        if isRemoved { try await task.remove() }
    }

    @Test(arguments: [true, false])
    func renewsNothingForTasksThatAreDone(isRemoved: Bool) async throws {
        let (fake, listener) = (FakeService(), Listener())
        let (mine, other) = (Count(), Count())
        let session = session(fake, listener, for: .seconds(1), owner: "pod-7") { request in
            switch (request.method, request.target) {
            case ("DELETE", "/v1/tasks/0"): return TransportResponse(204)
            case ("PATCH", let target):
                (target == Self.lease ? other : mine).add()
                return Self.renewed(2)
            default: return nil
            }
        }
        _ = try await session.reconnect()
        try await endTask(of: session, fake, isRemoved: isRemoved)
        // One may be under way.
        await other.reaches(more: 1)
        let count = mine.value
        await other.reaches(more: 3)
        #expect(mine.value <= count + 1)
        #expect(listener.codes.isEmpty)
        try await session.close()
    }

    /// Nobody keeps the handle that its reconnection makes.
    @Test func renewsNothingForWhatHadEndedBefore() async throws {
        let fake = FakeService()
        let (mine, other) = (Count(), Count())
        let session = session(fake, for: .seconds(1), owner: "pod-7") { request in
            if request.method == "PATCH" {
                (request.target == Self.lease ? mine : other).add()
                return Self.renewed(1)
            }
            guard request.target == "/v1/sessions/s/reconnect" else { return nil }
            return FakeService.page(FakeService.task("7", state: "completed"))
        }
        _ = try await session.reconnect()
        session.downloadTask(with: "a").resume()
        // One may be under way.
        await other.reaches(more: 1)
        let count = mine.value
        await other.reaches(more: 3)
        #expect(mine.value <= count + 1)
        try await session.close()
    }

    /// Returns the reader of a result, and nothing else of its task.
    private func reader(
        of session: TransferSession,
        _ fake: FakeService
    ) async throws -> TransferBytes.Iterator {
        let task = session.downloadTask(with: "a")
        task.resume()
        fake.finish(count: 1)
        return try await task.result().bytes.makeAsyncIterator()
    }

    /// The handles of what is taken over are made once submissions are answered.
    @Test func renewsWhatHasNoHandlesYet() async throws {
        let (fake, renewals) = (FakeService(), Count())
        fake.holdsReceipts.withLock { $0 = true }
        let session = session(fake, for: .seconds(1)) { request in
            guard request.method == "PATCH" else { return nil }
            renewals.add()
            return Self.renewed(2)
        }
        session.downloadTask(with: "a").resume()
        await fake.receiptsAreHeld()
        async let found = session.reconnect()
        await renewals.reaches(more: 2)
        fake.releaseReceipts()
        #expect(try await found.count == 2)
        try await session.close()
    }

    @Test func renewsWhileAResultIsRead() async throws {
        let (fake, renewals) = (FakeService(), Count())
        let session = session(fake, for: .seconds(1), owner: "pod-7") { request in
            guard request.method == "PATCH" else { return nil }
            renewals.add()
            return Self.renewed(1)
        }
        let reader = try await reader(of: session, fake)
        await renewals.reaches(more: 3)
        withExtendedLifetime(reader) {}
        try await session.close()
    }

    /// Its tasks may be there, and nobody here knows them.
    @Test func aLeaseOfALostResponseIsNotUsedAgain() async throws {
        let fake = FakeService()
        let tokens = Mutex<[String]>([])
        let session = session(fake, owner: "pod-7", submittingFor: .zero) { request in
            guard request.target == "/v1/sessions/s/tasks" else { return nil }
            tokens.withLock { $0.append(request.header("Lease-Token") ?? "") }
            guard request.text.contains("lost") else { return nil }
            let cut = TransportFailure(.broken, "The connection ended.")
            return TransportResponse(202, ["{"], failure: cut)
        }
        let lost = session.downloadTask(with: "lost")
        lost.resume()
        let error = await #expect(throws: TransferError.self) { try await lost.result() }
        #expect(error?.code == .unreachable)
        session.downloadTask(with: "a").resume()
        await fake.submissionIsAnswered()
        let seen = tokens.withLock { $0 }
        #expect(seen.count == 5 && Set(seen.dropLast()).count == 1)
        #expect(seen.first != seen.last)
        try await session.close()
    }

    /// It waits for a submission, before which nobody knows which handles are to be made.
    @Test func givesBackWhatACancelledReconnectionHasFound() async throws {
        let (fake, renewals, returned) = (FakeService(), Count(), Signal())
        fake.holdsReceipts.withLock { $0 = true }
        let session = session(fake, for: .seconds(1)) { request in
            if request.method == "DELETE", request.target == Self.lease { returned.fire() }
            guard request.method == "PATCH" else { return nil }
            renewals.add()
            return Self.renewed(2)
        }
        session.downloadTask(with: "a").resume()
        await fake.receiptsAreHeld()
        let caller = Task { try await session.reconnect() }
        await renewals.reaches(more: 1)
        caller.cancel()
        let error = await #expect(throws: TransferError.self) { try await caller.value }
        #expect(error?.code == .cancelled)
        await returned.wait()
        fake.releaseReceipts()
        try await session.close()
    }

    @Test func givesBackWhatComesAfterItHasClosed() async throws {
        let (asked, gate, returned) = (Signal(), Signal(), Signal())
        let session = session(FakeService()) { request in
            if request.method == "DELETE", request.target == Self.lease { returned.fire() }
            guard request.target == "/v1/sessions/s/reconnect" else { return nil }
            asked.fire()
            await gate.wait()
            return nil
        }
        async let found = session.reconnect()
        await asked.wait()
        try await session.close()
        gate.fire()
        _ = try await found
        await returned.wait()
    }

    @Test func twoListsAtOnceHaveTheSameHandles() async throws {
        for _ in 0..<5 {
            let (lists, both) = (Count(), Signal())
            let items = (0..<500).map { FakeService.task("\($0)") }.joined(separator: ",")
            let session = session(FakeService()) { request in
                guard request.target.hasPrefix("/v1/sessions/s/tasks?") else { return nil }
                if lists.add() == 2 { both.fire() }
                await both.wait()
                return TransportResponse(200, [#"{"items":[\#(items)],"has_more":false}"#])
            }
            async let one = session.allTasks
            async let other = session.allTasks
            let (first, second) = try await (one, other)
            #expect(first.count == 500 && first == second)
            try await session.close()
        }
    }
}

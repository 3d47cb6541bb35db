import PollLoop
import Foundation
import Logging
import Postgres
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct AttemptCompleterTests {
    private static func completer(
        _ fixture: EngineFixture,
        _ container: Container,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws -> AttemptCompleter {
        AttemptCompleter(
            loop: try PollLoop(name: "completer"),
            stores: EngineStores(fixture.stores.database),
            container: container,
            packs: Packs(container),
            logger: logger,
            onEnded: { _ in }
        )
    }

    @Test func anEndThatTheDatabaseRefusesHoldsNoOtherBack() async throws {
        let fixture = try await EngineFixture()
        var ids: [TaskID] = []
        for _ in 0..<5 { ids.append(try await fixture.submit(fixture.origin.url("/never"))) }
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claims = try await fixture.stores.queue.claimAny(5, by: identity)
        let container = try Container(directory: fixture.directory)
        let completer = try Self.completer(fixture, container)
        for (index, claim) in claims.enumerated() {
            // PostgreSQL's jsonb cannot hold NUL.
            let message = index == 2 ? "\u{0}" : "The worker died."
            completer.submit(
                .attemptEnd(
                    AttemptEnd(
                        task: claim.task,
                        fence: claim.fence,
                        outcome: .failed(TransferFailure(.poison, message))
                    ),
                    part: nil
                )
            )
        }
        let running = Task { await completer.run() }
        try await eventually("everything was tried") { completer.backlog == 0 }
        running.cancel()
        await running.value
        var states: [TransferState] = []
        for claim in claims { states.append(try await fixture.task(claim.task).state) }
        #expect(states == [.failed, .failed, .running, .failed, .failed])
    }

    /// What ails the server says nothing of the ends; two of the texts are the system's.
    @Test(arguments: [
        ("53100", "No space left on device"), ("XX000", "Disk quota exceeded"),
        ("XX000", "Plattenkontingent überschritten"), ("XX001", "invalid page"),
    ])
    func anEndOverWhichTheDatabaseFailsIsKept(sqlState: String, text: String) async throws {
        let fixture = try await EngineFixture()
        for _ in 0..<5 { _ = try await fixture.submit(fixture.origin.url("/never")) }
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claims = try await fixture.stores.queue.claimAny(5, by: identity)
        try await fixture.refuseOutcomes(3, sqlState: sqlState, "could not extend file: \(text)")
        let container = try Container(directory: fixture.directory)
        let log = RecordingLog()
        let completer = try Self.completer(fixture, container, logger: log.logger)
        for claim in claims { completer.submit(.attemptEnd(Self.failure(of: claim), part: nil)) }
        let running = Task { await completer.run() }
        try await eventually("all have ended") { completer.backlog == 0 }
        running.cancel()
        await running.value
        for claim in claims { #expect(try await fixture.task(claim.task).state == .failed) }
        #expect(!log.lines.contains { $0.contains("result not stored") })
    }

    /// What ails a server passes within an hour; one damaged row does not.
    @Test(arguments: [(1800, TransferState.failed), (7200, .running)])
    func anEndIsKeptForAnHour(age: Int, state: TransferState) async throws {
        let fixture = try await EngineFixture()
        _ = try await fixture.submit(fixture.origin.url("/never"))
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: identity).first)
        try await fixture.refuseOutcomes(1, sqlState: "XX000", "could not extend file")
        let completer = try Self.completer(fixture, Container(directory: fixture.directory))
        completer.expect()
        let step = CompletionStep.end(Self.failure(of: claim), part: nil)
        completer.setAside([step], [:], failedAt: ContinuousClock.now - .seconds(age))
        let running = Task { await completer.run() }
        try await eventually("it was tried") { completer.backlog == 0 }
        running.cancel()
        await running.value
        #expect(try await fixture.task(claim.task).state == state)
    }

    /// The question whether anybody needs the file is repeated until the database answers.
    @Test func aConnectionThatBreaksLeavesNoFileOfNobody() async throws {
        let fixture = try await EngineFixture()
        _ = try await fixture.submit(fixture.origin.url("/never"))
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: identity).first)
        let container = try Container(directory: fixture.directory)
        let place = Container.Place(
            partOf: claim.task,
            destination: nil,
            fence: claim.fence,
            tenant: claim.tenant
        )
        try container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: claim.fence, in: container)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: claim.task)
        // The first two statements on this table are the end of the attempt, looked for twice, the
        // third is the question.
        try await EngineFixture.interfere(
            "BEFORE DELETE ON partial",
            "IF nextval('turn') = 3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;"
        )
        let completer = try Self.completer(fixture, container)
        completer.submit(
            .attemptEnd(
                AttemptEnd(task: claim.task, fence: claim.fence, outcome: .released),
                part: .file(part)
            )
        )
        let running = Task { await completer.run() }
        try await eventually("it has ended") { completer.backlog == 0 }
        running.cancel()
        await running.value
        let connection = try await TestDatabase.current.connection()
        let turns = try await connection.execute("SELECT last_value FROM turn")
        #expect(try turns[0].decode("last_value", as: Int64.self) == 4)
        #expect(fixture.files().isEmpty)
    }

    /// Somebody removes the file while its worker has it open.
    ///
    /// Few files are made durable one by one, more of them with their file system.
    @Test(arguments: [1, 6])
    func aFileThatHasLostItsNameIsNoResult(count: Int) async throws {
        let fixture = try await EngineFixture()
        for _ in 0..<count { _ = try await fixture.submit(fixture.origin.url("/never")) }
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claims = try await fixture.stores.queue.claimAny(count, by: identity)
        #expect(claims.count == count)
        let container = try Container(directory: fixture.directory)
        let completer = try Self.completer(fixture, container)
        let bytes = [UInt8](repeating: 1, count: 10)
        for (index, claim) in claims.enumerated() {
            let place = Container.Place(partOf: claim, fence: claim.fence)
            try container.prepareDirectory(of: place)
            let part = try PartFile(place, fence: claim.fence, in: container)
            try bytes.withUnsafeBytes { try part.write($0) }
            if index == 0 { try container.removePart(at: place) }
            let result = TransferResult(
                httpStatus: 200,
                bytesReceived: Int64(bytes.count),
                isLengthVerified: true
            )
            completer.submit(.part(.file(part), PendingRename(of: claim, result: result)))
        }
        let running = Task { await completer.run() }
        try await eventually("all have ended") { completer.backlog == 0 }
        running.cancel()
        await running.value
        let lost = try await fixture.task(claims[0].task)
        #expect(lost.state == .waitingForRetry)
        #expect(lost.failure?.code == .storageFailure)
        for claim in claims.dropFirst() {
            #expect(try await fixture.task(claim.task).state == .completed)
        }
    }

    /// While another connection locks the counters of one session, ends of other sessions' tasks
    /// are stored, also later ones.
    ///
    /// Ends in that session are stored once, as soon as it is free.
    @Test func aSessionThatOthersHoldHoldsUpNoOther() async throws {
        let fixture = try await EngineFixture()
        let sessions = ["held"] + (0..<20).map { "free-\($0)" }
        for session in sessions { try await fixture.putSession(named: session) }
        var held: [TaskID] = []
        var free: [TaskID] = []
        for number in 0..<200 {
            let url = fixture.origin.url("/never")
            free.append(try await fixture.submit(url, to: "free-\(number % 20)"))
            if number < 10 { held.append(try await fixture.submit(url, to: "held")) }
        }
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claims = try await fixture.stores.queue.claimAny(210, by: identity)
        #expect(claims.count == 210)
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            """
            SELECT 1 FROM session_progress p JOIN session s ON s.id = p.session_id
            WHERE s.identifier = 'held' FOR UPDATE OF p
            """
        )
        let log = RecordingLog()
        let container = try Container(directory: fixture.directory)
        let completer = try Self.completer(fixture, container, logger: log.logger)
        let running = Task { await completer.run() }
        // All at once, and then those of the one session beside some of others.
        let (first, second) = (claims.prefix(150), claims.dropFirst(150))
        for claim in first { completer.submit(.attemptEnd(Self.failure(of: claim), part: nil)) }
        let waiting = first.count { held.contains($0.task) }
        try await eventually("the others have ended") { completer.backlog == waiting }
        for claim in second { completer.submit(.attemptEnd(Self.failure(of: claim), part: nil)) }
        try await eventually("so have those that came later") { completer.backlog == 10 }
        for id in free { #expect(try await fixture.task(id).state == .failed) }
        for id in held { #expect(try await fixture.task(id).state == .running) }
        #expect(!log.lines.contains { $0.contains("database away") })
        _ = try await holder.execute("ROLLBACK")
        try await eventually("everything has ended") { completer.backlog == 0 }
        for id in held { #expect(try await fixture.task(id).state == .failed) }
        running.cancel()
        await running.value
        let ends = try await holder.execute(
            """
            SELECT count(*) AS count, count(DISTINCT task_id) AS tasks FROM event
            WHERE kind = 'task.failed'
            """
        )
        #expect(try ends[0].decode("count", as: Int64.self) == 210)
        #expect(try ends[0].decode("tasks", as: Int64.self) == 210)
    }

    /// The lock is on rows of one task, and a look at the counters does not find it.
    @Test func aTaskThatOthersHoldHoldsUpNoOther() async throws {
        let fixture = try await EngineFixture()
        var ids: [TaskID] = []
        for _ in 0..<8 { ids.append(try await fixture.submit(fixture.origin.url("/never"))) }
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claims = try await fixture.stores.queue.claimAny(8, by: identity)
        // An attempt that has progressed has a row of its own, which may be held alone.
        try await fixture.stores.parts.recordProgress([
            AttemptProgress(
                task: claims[5].task,
                fence: claims[5].fence,
                bytesReceived: 1,
                bytesExpected: nil
            )
        ])
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            "SELECT 1 FROM attempt WHERE task_id = \(claims[5].task.uuid) FOR UPDATE"
        )
        let container = try Container(directory: fixture.directory)
        let completer = try Self.completer(fixture, container)
        let running = Task { await completer.run() }
        for claim in claims { completer.submit(.attemptEnd(Self.failure(of: claim), part: nil)) }
        try await eventually("the others have ended") { completer.backlog == 1 }
        #expect(try await fixture.task(claims[5].task).state == .running)
        _ = try await holder.execute("ROLLBACK")
        try await eventually("everything has ended") { completer.backlog == 0 }
        for id in ids { #expect(try await fixture.task(id).state == .failed) }
        running.cancel()
        await running.value
    }

    private static func failure(of claim: TaskClaim) -> AttemptEnd {
        AttemptEnd(
            task: claim.task,
            fence: claim.fence,
            outcome: .failed(TransferFailure(.poison, "The worker died."))
        )
    }
}

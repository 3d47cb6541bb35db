import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Attempts that share a row until one of them needs its own.
@Suite(.postgresSchema) struct AttemptRunTests {
    private static let lease: Duration = .seconds(600)

    private struct Line: Equatable {
        let task: TaskID
        let fence: Fence
        let worker: Int32
        let session: SessionID
        let number: Int
    }

    /// What the database says is running, in the order of the tasks.
    private func running(_ fixture: StoreFixture) async throws -> [Line] {
        try await fixture.aside.execute(
            "SELECT task_id, fence, worker, session_id, number FROM running_attempt ORDER BY task_id"
        ).map { row in
            Line(
                task: TaskID(try row.decode("task_id")),
                fence: Fence(rawValue: try row.decode("fence")),
                worker: try row.decode("worker"),
                session: SessionID(try row.decode("session_id")),
                number: Int(try row.decode("number", as: Int16.self))
            )
        }
    }

    private func lines(of claims: [TaskClaim], by worker: WorkerIdentity) -> [Line] {
        claims.sorted { $0.task.uuid < $1.task.uuid }.map { claim in
            Line(
                task: claim.task,
                fence: claim.fence,
                worker: worker.incarnation,
                session: claim.session,
                number: claim.number
            )
        }
    }

    /// The number of attempts that each run still has.
    private func runs(_ fixture: StoreFixture) async throws -> [Int] {
        try await fixture.aside.execute(
            """
            SELECT 128 - bit_count(gone) AS count FROM attempt_run
            ORDER BY first_fence
            """
        ).map { Int(try $0.decode("count", as: Int64.self)) }
    }

    private func rows(_ fixture: StoreFixture) async throws -> Int {
        Int(try await fixture.count("SELECT count(*) AS count FROM attempt"))
    }

    private func progress(of claims: [TaskClaim]) -> [AttemptProgress] {
        claims.map {
            AttemptProgress(task: $0.task, fence: $0.fence, bytesReceived: 7, bytesExpected: 9)
        }
    }

    @Test func aClaimBeginsRunsOfWhatIsAlike() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("other")
        try await fixture.submit(300)
        try await fixture.submit(4) { submission, index in
            submission.hostKey = HostKey(rawValue: Int64(900 + index % 2))
        }
        try await fixture.submit(3, to: "other")
        let claims = try await fixture.claim(400)
        #expect(claims.count == 307)
        struct Kind: Hashable {
            let session: SessionID
            let host: HostKey
            let block: [UInt8]
        }
        let alike = Dictionary(grouping: claims) { claim in
            let bytes = withUnsafeBytes(of: claim.task.uuid.uuid) { Array($0) }
            return Kind(
                session: claim.session,
                host: claim.hostKey,
                block: bytes.dropLast() + [bytes[15] & 128]
            )
        }
        #expect(try await runs(fixture).sorted() == alike.values.map(\.count).sorted())
        #expect(alike.count <= 4 + 4 + 2)
        #expect(try await rows(fixture) == 0)
        #expect(try await running(fixture) == lines(of: claims, by: fixture.worker))
        try await fixture.checkInvariants()
        try await fixture.complete(claims)
        #expect(try await runs(fixture).isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func whatEndsLeavesItsRun() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(10) { submission, index in
            guard index < 3 else { return }
            submission.destination = Destination(path: "f\(index)", overwrite: false)
        }
        let claims = try await fixture.claim()
        try await fixture.complete([claims[0]])
        try await fixture.end([claims[9]], .failed(StoreFixture.failure))
        try await fixture.end([claims[4]], .retry(StoreFixture.failure, after: .seconds(60)))
        #expect(try await runs(fixture).reduce(0, +) == 7)
        let rest = claims.filter { ![ids[0], ids[4], ids[9]].contains($0.task) }
        #expect(try await running(fixture) == lines(of: rest, by: fixture.worker))
        try await fixture.checkInvariants()
        // Nothing ends twice, and no neighbour in its place.
        #expect(try await fixture.end([claims[9], claims[4]], .failed(StoreFixture.failure)) == [])
        #expect(try await fixture.beginRenames([claims[0]]) == [])
        #expect(try await fixture.complete(rest) == Set(rest.map(\.task)))
        #expect(try await runs(fixture) == [])
        var states = Array(repeating: TransferState.completed, count: 10)
        states[4] = .waitingForRetry
        states[9] = .failed
        #expect(try await fixture.states(ids) == states)
        try await fixture.checkInvariants()
    }

    /// Fences before, after and between those of a run, and those of other tasks, end nothing.
    @Test func onlyTheFenceOfATaskEndsIt() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(5)
        let claims = try await fixture.claim()
        let first = claims[0].fence.rawValue
        let fences = [first - 1, first + 5, first + 127, first + 128, first + 1, 0, Int64.max]
        for fence in fences.map(Fence.init(rawValue:)) {
            let ends = [AttemptOutcome.failed(StoreFixture.failure), .released].map {
                AttemptEnd(task: claims[0].task, fence: fence, outcome: $0)
            }
            for end in ends { #expect(try await fixture.stores.completions.end([end]) == []) }
            let rename = PendingRename(of: claims[0], fence: fence)
            #expect(try await fixture.stores.completions.end([], beginning: [rename]) == [])
            try await fixture.stores.parts.recordProgress([
                AttemptProgress(
                    task: claims[0].task,
                    fence: fence,
                    bytesReceived: 7,
                    bytesExpected: 9
                )
            ])
        }
        #expect(try await rows(fixture) == 0)
        #expect(try await running(fixture) == lines(of: claims, by: fixture.worker))
        #expect(try await fixture.task(claims[0].task).bytesReceived == 0)
        try await fixture.checkInvariants()
    }

    @Test func whatProgressesGetsARowOfItsOwn() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(6)
        let claims = try await fixture.claim()
        try await fixture.stores.parts.recordProgress(progress(of: Array(claims[1...2])))
        #expect(try await runs(fixture).reduce(0, +) == 4)
        #expect(try await rows(fixture) == 2)
        #expect(try await running(fixture) == lines(of: claims, by: fixture.worker))
        #expect(try await fixture.task(ids[1]).bytesReceived == 7)
        #expect(try await fixture.task(ids[1]).bytesExpected == 9)
        #expect(try await fixture.task(ids[0]).bytesReceived == 0)
        try await fixture.checkInvariants()
        // A batch of both kinds.
        #expect(try await fixture.complete(claims) == Set(ids))
        #expect(try await running(fixture).isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func whatIsCancelledOrSuspendedLeavesItsRunAndIsRevoked() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(6)
        let claims = try await fixture.claim()
        try await fixture.stores.parts.recordProgress(progress(of: [claims[4]]))
        for index in [2, 4] {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[index])
        }
        _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: ids[5])
        #expect(
            try await fixture.states(ids)
                == [.running, .running, .cancelled, .running, .cancelled, .suspended]
        )
        let revoked = try await fixture.aside.execute("SELECT fence FROM revocation ORDER BY fence")
            .map { Fence(rawValue: try $0.decode("fence")) }
        #expect(revoked == [2, 4, 5].map { claims[$0].fence })
        let rest = [claims[0], claims[1], claims[3]]
        #expect(try await running(fixture) == lines(of: rest, by: fixture.worker))
        #expect(try await fixture.complete(claims) == Set(rest.map(\.task)))
        try await fixture.checkInvariants()
    }

    /// The second attempt of a task is not mistaken for its first one, whose run is still there.
    @Test func aTaskIsFoundInTheRunThatHasItNow() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4)
        let first = try await fixture.claim()
        try await fixture.end([first[1]], .requeued)
        #expect(try await fixture.state(ids[1]) == .queued)
        let second = try await fixture.claim()
        #expect(second.map(\.task) == [ids[1]])
        let task = try await fixture.task(ids[1])
        #expect(task.state == .running)
        #expect(task.attempt == 2)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[1])
        #expect(try await fixture.complete(first + second) == Set([ids[0], ids[2], ids[3]]))
        try await fixture.checkInvariants()
    }

    @Test func aDeadWorkersRunsAreTakenOverTaskByTask() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(200)
        let claims = try await fixture.claim(200)
        try await fixture.complete(Array(claims[10..<20]))
        let rescuer = try await fixture.otherWorker()
        _ = try await fixture.submit(3)
        let own = try await fixture.claim(by: rescuer)
        try await fixture.silence(fixture.worker)
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        #expect(takeover.workers == 1)
        #expect(Set(takeover.attempts.map(\.task)) == Set(ids[..<10] + ids[20...]))
        #expect(try await running(fixture) == lines(of: takeover.attempts + own, by: rescuer))
        #expect(try await runs(fixture).reduce(0, +) == 3)
        // The worker was only suspended, and ends none of them.
        #expect(try await fixture.complete(claims) == [])
        #expect(try await fixture.complete(takeover.attempts) == Set(takeover.attempts.map(\.task)))
        try await fixture.complete(own)
        #expect(try await running(fixture).isEmpty)
        try await fixture.checkInvariants()
    }

    /// A worker whose registration is gone has runs alone; it came before or after the others.
    @Test(arguments: [false, true])
    func runsWithoutAnOwnerAreFound(isNewest: Bool) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3)
        let other = try await fixture.otherWorker()
        let (owner, rescuer) = isNewest ? (other, fixture.worker) : (fixture.worker, other)
        try await fixture.age(rescuer)
        _ = try await fixture.claim(by: owner)
        try await fixture.stores.workers.retireWorker(incarnation: owner.incarnation)
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        #expect(Set(takeover.attempts.map(\.task)) == Set(ids))
        try await fixture.checkInvariants()
    }

    @Test func aWorkerIsToldOfAllThatItHolds() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(5)
        let claims = try await fixture.claim()
        try await fixture.stores.parts.recordProgress(progress(of: [claims[3]]))
        try await fixture.complete([claims[1]])
        try await fixture.submit(4)
        let other = try await fixture.otherWorker()
        let others = try await fixture.claim(by: other)
        try await fixture.stores.parts.recordProgress(progress(of: [others[0]]))
        let held = try await fixture.stores.workers.holdings(incarnation: other.incarnation)
        #expect(Set(held.attempts.map(\.fence)) == Set(others.map(\.fence)))
        let holdings = try await fixture.stores.workers.holdings(
            incarnation: fixture.worker.incarnation
        )
        let rest = claims.filter { $0.task != claims[1].task }
        #expect(Set(holdings.attempts.map(\.fence)) == Set(rest.map(\.fence)))
        let named = try await fixture.stores.verification.namedParts(
            among: claims.map(\.fence),
            of: claims.map(\.task)
        )
        #expect(named == Set(claims.map(\.fence)))
    }

    /// The high bits of a later one's fences would be those of another worker.
    @Test func aWorkerWithoutFencesIsNotRegistered() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.aside.execute(
            """
            SELECT setval(
                pg_get_serial_sequence('worker', 'incarnation'), \(Int64(Fence.incarnationEnd) - 2))
            """
        )
        let last = try await fixture.otherWorker()
        #expect(last.incarnation == Fence.incarnationEnd - 1)
        try await fixture.submit()
        let claims = try await fixture.claim(by: last)
        #expect(try await running(fixture) == lines(of: claims, by: last))
        await #expect(throws: StoreError.self) { try await fixture.otherWorker() }
    }

    /// Each statement sees what those before it have left of the run.
    @Test func endsOfOneRunAtOnceEachFindTheirOwn() async throws {
        let fixture = try await StoreFixture(connectionsMax: 8)
        let ids = try await fixture.submit(640) + fixture.submit(640)
        let claims = try await fixture.claim(1280)
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for start in 0..<20 {
                let some = stride(from: start, to: claims.count, by: 20).map { claims[$0] }
                group.addTask {
                    switch start % 4 {
                    case 0:
                        try await fixture.stores.parts.recordProgress(progress(of: some))
                        return try await fixture.complete(some).count
                    case 1: return try await fixture.end(some, .failed(StoreFixture.failure)).count
                    case 2: return try await fixture.end(some, .released).count
                    default: return try await fixture.complete(some).count
                    }
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 }
        }
        #expect(counts == ids.count)
        #expect(try await running(fixture).isEmpty)
        try await fixture.checkInvariants()
    }

    /// Also in a transaction that begins with renames of the last run.
    @Test(arguments: [false, true])
    func runsAreLockedInTheOrderOfTheirFences(hasRenames: Bool) async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        try await fixture.submit(300)
        let claims = try await fixture.claim(300)
        let ends = claims.reversed().dropFirst().map {
            AttemptEnd(
                task: $0.task,
                fence: $0.fence,
                outcome: .failed(StoreFixture.failure)
            )
        }
        let count = try await runs(fixture).count
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            """
            SELECT FROM attempt_run WHERE first_fence = (
                SELECT first_fence FROM attempt_run ORDER BY first_fence LIMIT 1) FOR UPDATE
            """
        )
        async let ended = fixture.stores.completions.end(
            ends,
            beginning: hasRenames ? [PendingRename(of: claims[299])] : []
        )
        try await fixture.eventuallyWaits(for: holder)
        let free = try await fixture.countOfUnlocked("attempt_run")
        #expect(Int(free) == count - 1)
        _ = try await holder.execute("COMMIT")
        #expect(try await ended.count == (hasRenames ? 300 : 299))
        await holder.close()
        try await fixture.checkInvariants()
    }
}

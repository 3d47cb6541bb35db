import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The records that the database keeps of unfinished downloads.
@Suite(.postgresSchema) struct PartialStoreTests {
    func suspend(_ id: TaskID, _ fixture: StoreFixture) async throws -> TransferTask? {
        try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id).task
    }

    /// A running request that must not be sent twice continues; one that is not running yet is
    /// suspended.
    @Test(arguments: ["GET", "POST", "PATCH", nil], [true, false, nil])
    func suspendsNoRequestThatMustNotBeSentTwice(
        method: String?,
        isDeclaredIdempotent: Bool?
    ) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, _ in
            submission.request = TransferRequest(method: method)
            submission.options.isIdempotent = isDeclaredIdempotent
        }
        let claim = try #require(try await fixture.claim(1).first)
        let isIdempotent = isDeclaredIdempotent ?? (method == nil || method == "GET")
        let result = try await fixture.stores.control.suspendTask(
            tenant: fixture.tenant,
            id: claim.task
        )
        switch result {
        case .answered(let task):
            #expect(isIdempotent)
            #expect(task.state == .suspended)
        case .inFlight(let task):
            #expect(!isIdempotent)
            #expect(task.state == .running)
        case .unknownTask: Issue.record("the task is there")
        }
        let repeatable = try await fixture.stores.control.idempotentTasks(among: ids)
        #expect(repeatable == (isIdempotent ? Set(ids) : Set()))
        #expect(try await fixture.complete([claim]).isEmpty == isIdempotent)
        for id in ids where id != claim.task {
            #expect(try await suspend(id, fixture)?.state == .suspended)
        }
        try await fixture.checkInvariants()
    }

    @Test func suspendsATaskWhereverItIs() async throws {
        let fixture = try await StoreFixture()
        let scheduled = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
        }
        let waiting = try await fixture.submit()
        try await fixture.end(
            try await fixture.claim(),
            .retry(StoreFixture.failure, after: .seconds(60))
        )
        let running = try await fixture.submit()
        let claim = try await fixture.claim()[0]
        let queued = try await fixture.submit()
        let ids = scheduled + waiting + running + queued
        for id in ids { #expect(try await suspend(id, fixture)?.state == .suspended) }
        // Only the one that had failed has used up an attempt.
        var attempts: [Int] = []
        for id in ids { attempts.append(try await fixture.task(id).attempt) }
        #expect(attempts == [0, 1, 0, 0])
        let me = fixture.worker.incarnation
        #expect(
            try await fixture.stores.workers.controls(incarnation: me).revocations == [claim.fence]
        )
        #expect(try await fixture.beginRenames([claim]).isEmpty)
        #expect(try await fixture.end([claim], .released).isEmpty)
        #expect(try await fixture.claim().isEmpty)
        for id in ids {
            #expect(try await suspend(id, fixture)?.state == .suspended)
            _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
        }
        #expect(try await fixture.states(ids) == [.scheduled, .queued, .queued, .queued])
        #expect(try await fixture.events().count { $0.kind == .taskSuspended } == 4)
        #expect(try await fixture.claim().map(\.number) == [2, 1, 1])
        let log = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: running[0])
        #expect(log?.map(\.outcome) == [.suspended])
        try await fixture.checkInvariants()
    }

    /// An attempt that finds the file of the last one in use, or broken, starts its own.
    @Test(arguments: [true, false])
    func aFileThatAnotherTakesThePlaceOfIsRemembered(isByCheckpoint: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let first = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: id, fence: first.fence)
        ])
        try await fixture.end([first], .released)
        let second = try await fixture.claim()[0]
        #expect(second.partial?.partFence == first.fence)
        let progress = StoreFixture.progress(of: id, fence: second.fence)
        if isByCheckpoint {
            try await fixture.stores.parts.recordProgress([progress])
        } else {
            let attemptEnd = AttemptEnd(
                task: id,
                fence: second.fence,
                outcome: .retry(StoreFixture.failure, after: .zero),
                partial: progress.checkpoint
            )
            #expect(try await fixture.stores.completions.end([attemptEnd]) == [id])
        }
        #expect(try await fixture.stores.parts.abandonedParts().map(\.fence) == [first.fence])
        #expect(
            try await fixture.stores.parts.keptParts([(id, first.fence), (id, second.fence)]) == [
                second.fence
            ]
        )
        try await fixture.checkInvariants()
    }

    @Test func aTaskThatIsBeingRenamedOrHasEndedIsNotSuspended() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        let claims = try await fixture.claim()
        try await fixture.beginRenames([claims[0]])
        try await fixture.end([claims[1]], .failed(StoreFixture.failure))
        #expect(try await suspend(ids[0], fixture)?.state == .running)
        #expect(try await suspend(ids[1], fixture)?.state == .failed)
        #expect(try await suspend(TaskID(.version7()), fixture) == nil)
        let stranger = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(
                id: "stranger",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "stranger"
            ),
            tenantName: "stranger"
        )
        #expect(
            try await fixture.stores.control.suspendTask(tenant: stranger, id: ids[0]).task == nil
        )
        #expect(try await fixture.stores.tasks.attempts(tenant: stranger, task: ids[0]) == nil)
        try await fixture.checkInvariants()
    }

    @Test func ofASuspensionAndARenameExactlyOneWins() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        for _ in 0..<40 {
            let id = try await fixture.submit()[0]
            let claim = try await fixture.claim()[0]
            async let begun = fixture.beginRenames([claim])
            async let suspended = suspend(id, fixture)
            let (hasBegun, task) = try await (begun == [id], suspended)
            #expect(hasBegun == (task?.state == .running))
            #expect(hasBegun != (task?.state == .suspended))
            if hasBegun { try await fixture.end([claim], .completed) }
        }
        try await fixture.checkInvariants()
    }

    @Test func theNextAttemptIsToldWhatIsThere() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        // Nor does the time for which it waited count.
        _ = try await fixture.aside.execute(
            "UPDATE task SET created_at = created_at - interval '1 hour'"
        )
        let start = ContinuousClock.now
        let first = try await fixture.claim()[0]
        #expect(first.partial == nil)
        // The database rounds to milliseconds.
        #expect(first.elapsed <= ContinuousClock.now - start + .milliseconds(1))
        var partial = try #require(
            StoreFixture.progress(of: id, fence: first.fence).checkpoint
        )
        partial.bytesDurable = 600
        partial.coding = "gzip"
        partial.mayBeOfAnother = true
        _ = try await fixture.stores.completions.end([
            AttemptEnd(
                task: id,
                fence: first.fence,
                outcome: .retry(StoreFixture.failure, after: .zero),
                bytesReceived: 600,
                partial: partial
            )
        ])
        let waiting = try await fixture.task(id)
        #expect(waiting.bytesReceived == 600)
        #expect(waiting.bytesExpected == 1000)
        _ = try await fixture.stores.queue.promoteDue()
        let second = try await fixture.claim()[0]
        #expect(second.partial == partial)
        #expect(try await fixture.task(id).bytesReceived == 600)
        // The time limit of the task runs from its first attempt.
        _ = try await fixture.aside.execute(
            "UPDATE attempt SET began_at = began_at - interval '1 hour'"
        )
        try await fixture.end([second], .released)
        let third = try await fixture.claim()[0]
        #expect(third.elapsed > .seconds(3599))
        #expect(third.partial == partial)
        try await fixture.complete([third])
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 0)
        try await fixture.checkInvariants()
    }

    @Test func aCheckpointOfAStaleAttemptIsNotKept() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let stale = try await fixture.claim()[0]
        try await fixture.end([stale], .requeued)
        let progress = StoreFixture.progress(of: id, fence: stale.fence)
        try await fixture.stores.parts.recordProgress([progress])
        #expect(try await fixture.claim()[0].partial == nil)
        // Nor does one that arrives after the end.
        try await fixture.stores.parts.recordProgress([progress])
        #expect(try await fixture.stores.parts.keptParts([(id, stale.fence)]).isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func aResumptionIsToldOnce() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let resumption = Resumption(task: id, fence: claim.fence, offset: 600)
        let stale = Resumption(task: id, fence: fixture.worker.reserve(1).first, offset: 1)
        #expect(try await fixture.stores.parts.recordResumptions([stale]).isEmpty)
        #expect(try await fixture.stores.parts.recordResumptions([resumption]) == [id])
        #expect(try await fixture.stores.parts.recordResumptions([resumption]).isEmpty)
        #expect(try await fixture.stores.parts.recordResumptions([]).isEmpty)
        let told = try await fixture.events().filter { $0.kind == .taskResumedAtOffset }
        #expect(told.map(\.task?.bytesReceived) == [600])
        #expect(told.map(\.task?.state) == [.running])
        try await fixture.complete([claim])
        #expect(try await fixture.stores.parts.recordResumptions([resumption]).isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func resumeDataIsUsedOnceAndByItsTenantOnly() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: id, fence: claim.fence)
        ])
        let token = ResumeDataID(UUID())
        let stores = fixture.stores
        _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: id, producing: token)
        #expect(try await stores.control.hasResumeData(token))
        #expect(try await stores.parts.keptParts([(id, claim.fence)]) == [claim.fence])
        // A repetition finds nothing to keep.
        let again = ResumeDataID(UUID())
        _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: id, producing: again)
        #expect(try await !stores.control.hasResumeData(again))

        let stranger = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "stranger",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "stranger"
            ),
            tenantName: "stranger"
        )
        _ = try await stores.sessions.putSession(
            tenant: stranger,
            identifier: "s",
            configuration: SessionConfiguration()
        )
        let taken = StoreFixture.submissions(1) { submission, _ in submission.resumeData = token }
        let stolen = try await stores.submissions.submit(
            taken,
            tenant: stranger,
            sessionIdentifier: "s"
        )
        guard case .unknownResumeData = stolen else {
            Issue.record("\(stolen)")
            return
        }
        // Of many callers one gets it, and the requests of the others are not stored at all.
        let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let wanted = StoreFixture.submissions(2) { submission, index in
                        if index == 1 { submission.resumeData = token }
                    }
                    let result = try await stores.submissions.submit(
                        wanted,
                        tenant: fixture.tenant,
                        sessionIdentifier: StoreFixture.identifier
                    )
                    if case .accepted = result { return true }
                    return false
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(accepted == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 3)
        let claims = try await fixture.claim()
        #expect(claims.map { $0.partial?.partFence } == [nil, claim.fence])
        let path = ResultLocation.partPath(of: id, destination: nil, fence: claim.fence)
        #expect(claims[1].partial?.sourcePath == path)
        #expect(claims[1].partial?.isOfOtherURL == false)
        // Cancelled once more before anything was moved: the file is still at its first place.
        let last = ResumeDataID(UUID())
        _ = try await stores.control.cancelTask(
            tenant: fixture.tenant,
            id: claims[1].task,
            producing: last
        )
        let next = try await fixture.submit { submission, _ in submission.resumeData = last }
        _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: next[0])
        let abandoned = try await stores.parts.abandonedParts()
        #expect(abandoned.map(\.fence) == [claim.fence])
        #expect(abandoned.map(\.sourcePath) == [path])
        try await fixture.checkInvariants()
    }

    @Test func durableBytesNeverShrink() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: id, fence: claim.fence)
        ])
        _ = try await suspend(id, fixture)
        try await fixture.stores.parts.recordDurable([
            (partFence: claim.fence, bytes: 500, ranges: nil)
        ])
        try await fixture.stores.parts.recordDurable([
            (partFence: claim.fence, bytes: 400, ranges: nil)
        ])
        _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
        let next = try await fixture.claim()[0]
        #expect(next.partial?.bytesDurable == 500)
    }

    @Test func rangesGrowAndGoWithTheFile() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        func ranges(_ ranges: Range<Int64>...) -> ByteRangeSet {
            ranges.reduce(into: ByteRangeSet()) { $0.insert($1) }
        }
        func checkpoint(_ ranges: ByteRangeSet) async throws {
            try await stores.parts.recordProgress([
                StoreFixture.progress(of: id, fence: claim.fence, ranges: ranges)
            ])
        }
        try await checkpoint(ranges(0..<100))
        try await checkpoint(ranges(0..<150, 600..<700))
        _ = try await suspend(id, fixture)
        // A report that arrives after the attempt was taken away, and an old one about it.
        try await stores.parts.recordDurable([(claim.fence, 350, ranges(0..<200, 600..<750))])
        try await stores.parts.recordDurable([(claim.fence, 150, ranges(0..<150))])
        _ = try await stores.control.resumeTask(tenant: fixture.tenant, id: id)
        let second = try await fixture.claim()[0]
        #expect(second.partial?.ranges == ranges(0..<200, 600..<750))
        #expect(second.partial?.bytesDurable == 350)
        // Through resume data to another task, and through the end of its attempt to the next.
        let token = ResumeDataID(UUID())
        _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: id, producing: token)
        try await stores.parts.recordDurable([(claim.fence, 360, ranges(0..<210, 600..<750))])
        _ = try await fixture.submit { submission, _ in submission.resumeData = token }
        let third = try await fixture.claim()[0]
        #expect(third.partial?.ranges == ranges(0..<210, 600..<750))
        var partial = try #require(third.partial)
        partial.ranges = ranges(0..<300, 600..<800)
        _ = try await stores.completions.end([
            AttemptEnd(
                task: third.task,
                fence: third.fence,
                outcome: .released,
                partial: partial
            )
        ])
        let last = try await fixture.claim()[0]
        #expect(last.partial?.ranges == ranges(0..<300, 600..<800))
        try await fixture.checkInvariants()
    }
}

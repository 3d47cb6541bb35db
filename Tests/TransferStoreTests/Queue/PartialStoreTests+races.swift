import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

extension PartialStoreTests {
    /// Performs `body` beside a checkpoint of an attempt, or another `change` of what it leaves,
    /// which ends when `body` waits for it.
    private func besideCheckpoint<Value: Sendable>(
        of claim: TaskClaim,
        _ fixture: StoreFixture,
        storing change: Query? = nil,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await fixture.separate([claim])
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute(
            "SELECT fence FROM attempt WHERE task_id = \(claim.task.uuid) FOR KEY SHARE"
        )
        _ = try await other.execute(change ?? Self.insertPartial(of: claim.task, claim.fence))
        async let value = body()
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        await other.close()
        return try await value
    }

    private static func insertPartial(of task: TaskID, _ partFence: Fence) -> Query {
        """
        INSERT INTO partial (task_id, part_fence, boot_id, bytes_durable, bytes_total, validator)
        VALUES (\(task.uuid), \(partFence.rawValue), \(StoreFixture.bootID), 5, 10, '"1"')
        """
    }

    private static let countOfPartials: Query = "SELECT count(*) AS count FROM partial"

    /// The cancellation waits for the checkpoint and does not see what it has stored.
    @Test func aCheckpointThatComesWithACancellationKeepsNoFile() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let cancelled = try await besideCheckpoint(of: claim, fixture) {
            try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        }
        #expect(cancelled?.state == .cancelled)
        #expect(try await fixture.count(Self.countOfPartials) == 1)
        #expect(try await fixture.stores.parts.keptParts([(id, claim.fence)]).isEmpty)
        #expect(try await fixture.count(Self.countOfPartials) == 0)
    }

    /// The end waits for the checkpoint, and sees what it has stored.
    @Test(arguments: [(true, false), (false, false), (false, true)])
    func aCheckpointThatComesWithAnEndLeavesNoRow(isFetched: Bool, reports: Bool) async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        let stores = fixture.stores
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let end = AttemptEnd(
            task: id,
            fence: claim.fence,
            outcome: isFetched
                ? .fetched(StoreFixture.result, part: claim.fence) : .failed(StoreFixture.failure),
            bytesReceived: 600,
            partial: reports ? StoreFixture.progress(of: id, fence: claim.fence).checkpoint : nil
        )
        let ended = try await besideCheckpoint(of: claim, fixture) {
            try await stores.completions.end([end])
        }
        #expect(ended == [id])
        #expect(try await fixture.count(Self.countOfPartials) == 0)
        try await fixture.checkInvariants()
        guard !isFetched else { return }
        let result = try await stores.retries.retryTask(
            tenant: fixture.tenant,
            id: id,
            hasBody: false
        )
        guard case .answered = result else {
            Issue.record("not retried: \(result)")
            return
        }
        #expect(try await fixture.claim().map { $0.partial?.partFence } == [claim.fence])
        try await fixture.checkInvariants()
    }

    /// Returns the takeover of what the fixture's worker has, which is silent from now on.
    private func rescue(
        _ fixture: StoreFixture
    ) async throws -> @Sendable () async throws -> Takeover {
        try await fixture.silence(fixture.worker)
        let rescuer = try await fixture.otherWorker()
        return {
            try await fixture.stores.workers.takeOver(silentFor: .seconds(600), identity: rescuer)
        }
    }

    /// The takeover waits for the checkpoint, and sees what it has stored.
    @Test func aCheckpointThatComesWithATakeoverIsContinued() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        try await fixture.submit()
        let claim = try await fixture.claim()[0]
        let takeover = try await besideCheckpoint(of: claim, fixture, rescue(fixture))
        #expect(takeover.attempts.map(\.partial?.partFence) == [claim.fence])
        #expect(try await fixture.stores.parts.abandonedParts().isEmpty)
        #expect(try await fixture.count(Self.countOfPartials) == 1)
        try await fixture.checkInvariants()
    }

    /// Without it, the request of a dead worker might not be repeated.
    @Test func aPlaceThatIsKeptBesideATakeoverIsSeen() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let kept: Query = """
            INSERT INTO upload_resource (task_id, fence, dialect, url, is_at_origin, body)
            VALUES (\(id.uuid), \(claim.fence.rawValue), 'ietf', 'sealed', true, '1')
            """
        let takeOver = try await rescue(fixture)
        let takeover = try await besideCheckpoint(of: claim, fixture, storing: kept, takeOver)
        #expect(takeover.resumableUploads == [id])
        try await fixture.checkInvariants()
    }

    /// A worker has noted the file as well, as one whose attempt was taken away.
    @Test(arguments: [true, false])
    func aPartThatIsAlreadyNotedStopsNoEnd(asks: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let stores = fixture.stores
        let origin = Origin(scheme: "https", host: "origin.test", port: 443)
        try await fixture.end(
            claim,
            asks
                ? .askForCredential(
                    StoreFixture.failure,
                    origin,
                    named: nil,
                    within: .seconds(60)
                ) : .retry(StoreFixture.failure, after: .seconds(60)),
            leaving: 600
        )
        try await stores.parts.recordAbandoned([(id, claim.fence)])
        if asks {
            _ = try await stores.questions.refuseChallenge(tenant: fixture.tenant, id: id)
        } else {
            _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: id)
        }
        #expect(try await fixture.state(id) == (asks ? .failed : .cancelled))
        #expect(try await stores.parts.abandonedParts().map(\.fence) == [claim.fence])
        try await fixture.checkInvariants()
    }

    /// No end leaves one; if there is one all the same, its file is given up.
    @Test func aPartOfAnEndedTaskStopsNoRetry() async throws {
        let fixture = try await StoreFixture()
        let operations = fixture.stores.bulkOperations
        try await fixture.submit()
        let claim = try await fixture.claim()[0]
        try await fixture.end(claim, .failed(StoreFixture.failure), leaving: 600)
        let stray = fixture.worker.reserve(1).first
        _ = try await fixture.aside.execute(Self.insertPartial(of: claim.task, stray))
        let begun = try await operations.beginBulkOperation(
            .retry,
            on: BulkOperation.Verb.retry.statesDefault,
            of: fixture.session(),
            tenant: fixture.tenant
        )
        var isMore = true
        while isMore {
            isMore = false
            for operation in try await operations.runningBulkOperations(of: fixture.tenant)
            where try await operations.advanceBulkOperation(operation, bodies: []) {
                isMore = true
            }
        }
        let ended = try await operations.bulkOperation(tenant: fixture.tenant, id: begun.id)
        #expect(ended?.state == .completed)
        #expect(try await fixture.claim().map { $0.partial?.partFence } == [claim.fence])
        #expect(try await fixture.stores.parts.abandonedParts().map(\.fence) == [stray])
        try await fixture.checkInvariants()
    }

    /// The submission has taken the bytes when the removal gets to them.
    @Test func aTaskWhoseBytesAreBeingTakenIsNotRemoved() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        let stores = fixture.stores
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await stores.parts.recordProgress([StoreFixture.progress(of: id, fence: claim.fence)])
        let token = ResumeDataID(UUID())
        _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: id, producing: token)
        // Its worker has stopped.
        _ = try await fixture.aside.execute("DELETE FROM revocation")
        let next = try await fixture.submit()[0]
        let submission = try await TestDatabase.current.connection()
        _ = try await submission.execute("BEGIN")
        _ = try await submission.execute(
            """
            WITH used AS (DELETE FROM resume_data WHERE id = \(token.uuid) RETURNING *)
            INSERT INTO partial (
                task_id, part_fence, source_task_id, boot_id, bytes_durable, bytes_total, validator)
            SELECT \(next.uuid), part_fence, source_task_id, boot_id, bytes_durable, bytes_total,
                validator
            FROM used
            """
        )
        async let begun = stores.removals.beginRemoval(tenant: fixture.tenant, id: id)
        try await fixture.eventuallyWaits(for: submission)
        // Its session comes behind the bytes, and is the same.
        _ = try await submission.execute("SELECT 1 FROM session_progress FOR UPDATE NOWAIT")
        _ = try await submission.execute("COMMIT")
        await submission.close()
        let result = try await begun
        guard case .inUse = result else {
            Issue.record("\(result)")
            return
        }
        #expect(try await fixture.claim().map { $0.partial?.partFence } == [claim.fence])
        try await fixture.checkInvariants()
    }

    /// The file still has the name of the task, from which another took it over.
    @Test func aTaskIsNotRemovedBeforeTheFileThatAnotherLeft() async throws {
        let fixture = try await StoreFixture()
        let (stores, tenant) = (fixture.stores, fixture.tenant)
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await stores.parts.recordProgress([StoreFixture.progress(of: id, fence: claim.fence)])
        let token = ResumeDataID(UUID())
        _ = try await stores.control.cancelTask(tenant: tenant, id: id, producing: token)
        // Its worker has stopped.
        try await stores.workers.removeRevocations([claim.fence])
        let other = try await fixture.submit { task, _ in task.resumeData = token }[0]
        _ = try await stores.control.cancelTask(tenant: tenant, id: other)
        let early = try await stores.removals.beginRemoval(tenant: tenant, id: id)
        guard case .inUse = early else {
            Issue.record("\(early)")
            return
        }
        try await stores.parts.forgetAbandonedParts([claim.fence])
        let late = try await stores.removals.beginRemoval(tenant: tenant, id: id)
        guard case .removable = late else {
            Issue.record("\(late)")
            return
        }
    }

    @Test func aPartThatIsStillWantedIsNotAbandonedWithItsWorker() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4)
        let claims = try await fixture.claim()
        for claim in claims.prefix(3) {
            try await fixture.stores.parts.recordProgress([
                StoreFixture.progress(of: claim.task, fence: claim.fence)
            ])
        }
        // The first continues to run, the second is suspended, the third cancelled with resume
        // data; the fourth has nothing worth keeping.
        _ = try await suspend(ids[1], fixture)
        _ = try await fixture.stores.control.cancelTask(
            tenant: fixture.tenant,
            id: ids[2],
            producing: ResumeDataID(UUID())
        )
        let takeover = try await rescue(fixture)()
        #expect(takeover.attempts.count == 2)
        #expect(try await fixture.stores.parts.abandonedParts().map(\.fence) == [claims[3].fence])
        try await fixture.checkInvariants()
    }
}

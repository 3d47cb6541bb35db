import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The bytes that a tenant keeps and has in flight, over all instances.
@Suite(.postgresSchema) struct ByteQuotaTests {
    private static let mebibyte: Int64 = 1 << 20

    private func limit(_ changes: TenantLimitChanges, _ fixture: StoreFixture) async throws {
        #expect(try await fixture.stores.tenants.limitTenant(named: "test", changes: changes))
    }

    private func bound(
        _ count: Int,
        _ fixture: StoreFixture,
        byBytes: Bool = true
    ) async throws -> [TaskClaim] {
        let flows = try await fixture.stores.queue.waitingFlows(in: Set(Shard.all).hostKeys)
        guard let flow = flows.first else { return [] }
        #expect(flow.hasTenantByteLimit == byBytes)
        return try await fixture.stores.queue.claim(
            [FlowGrant(flow: flow.flow, count: count, from: flow.position)],
            boundTenants: [fixture.tenant],
            fences: fixture.worker.reserve(count)
        )
    }

    private func wait(_ task: TaskID, _ fixture: StoreFixture) async throws -> QueueWait.Cause? {
        // A task waits for a worker before it waits for anything else.
        _ = try await fixture.aside.execute("UPDATE worker SET leases_shards = true")
        return try await fixture.stores.tasks.queueWait(of: task)?.cause(connectionsDefault: 6)
    }

    /// 50 instances take bodies at once: what they have together never exceeds the limit.
    @Test func bodiesOfAllInstancesTogetherStayWithinTheLimit() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        try await limit(TenantLimitChanges(storedBytesMax: 1000), fixture)
        let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    do {
                        try await fixture.stores.stagedBodies.reserve(
                            90,
                            for: TaskID(UUID()),
                            of: fixture.tenant
                        )
                        return true
                    } catch StoreError.quotaExceeded(let quota) {
                        #expect(quota == Quota(.storedBytes, maximum: 1000))
                        return false
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(accepted == 11)
        #expect(try await fixture.stores.tenants.storage(of: fixture.tenant).storedBytes == 990)
    }

    @Test func aBodyTakesTheRoomOfItsEarlierPart() async throws {
        let fixture = try await StoreFixture()
        try await limit(TenantLimitChanges(storedBytesMax: 100), fixture)
        let task = try await fixture.submit()[0]
        let bodies = fixture.stores.stagedBodies
        try await bodies.reserve(60, for: task, of: fixture.tenant)
        try await bodies.reserve(100, for: task, of: fixture.tenant)
        await #expect(throws: StoreError.self) {
            try await bodies.reserve(101, for: task, of: fixture.tenant)
        }
        await #expect(throws: StoreError.self) {
            try await bodies.reserve(1, for: TaskID(UUID()), of: fixture.tenant)
        }
        // Fewer, as when a body turns out to be shorter.
        try await bodies.reserve(40, for: task, of: fixture.tenant)
        let gone = TaskID(UUID())
        try await bodies.reserve(60, for: gone, of: fixture.tenant)
        #expect(try await bodies.bodiesToForget(after: nil).remains.isEmpty)
        #expect(try await fixture.stores.tenants.storage(of: fixture.tenant).storedBytes == 40)
        try await bodies.forget([task])
        #expect(try await fixture.stores.tenants.storage(of: fixture.tenant).storedBytes == 0)
    }

    @Test func tasksWaitWhileTheirTenantKeepsTooMuch() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3)
        try await fixture.fetch(try await fixture.claim(1))
        let kept = Int64(StoreFixture.result.bytesReceived)
        #expect(try await fixture.stores.tenants.storage(of: fixture.tenant).storedBytes == kept)
        try await limit(TenantLimitChanges(storedBytesMax: kept), fixture)
        #expect(try await bound(2, fixture).isEmpty)
        #expect(try await wait(ids[1], fixture) == .storedBytes)
        // With room for a byte one begins, and counts.
        try await limit(TenantLimitChanges(storedBytesMax: kept + 1), fixture)
        #expect(try await bound(2, fixture).map(\.task) == [ids[1]])
        #expect(try await bound(2, fixture).isEmpty)
        #expect(try await wait(ids[2], fixture) == .storedBytes)
        try await limit(TenantLimitChanges(storedBytesMax: .some(nil)), fixture)
        #expect(try await wait(ids[2], fixture) != .storedBytes)
    }

    @Test func whatIsUnderWayCountsByWhatIsKnownOfIt() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(10)
        try await limit(TenantLimitChanges(inFlightBytesMax: 3 * Self.mebibyte), fixture)
        let first = try await bound(5, fixture)
        #expect(first.map(\.task) == Array(ids.prefix(3)))
        #expect(try await wait(ids[3], fixture) == .inFlightBytes)
        func report(_ claim: TaskClaim, expected: Int64) async throws {
            let progress = AttemptProgress(
                task: claim.task,
                fence: claim.fence,
                bytesReceived: 0,
                bytesExpected: expected
            )
            try await fixture.stores.parts.recordProgress([progress])
        }
        // Their lengths become known: small ones make room, a large one takes it.
        for claim in first { try await report(claim, expected: 1000) }
        let second = try await bound(1, fixture)
        #expect(second.count == 1)
        try await report(second[0], expected: 3 * Self.mebibyte)
        #expect(try await bound(5, fixture).isEmpty)
        let storage = try await fixture.stores.tenants.storage(of: fixture.tenant)
        #expect(storage.inFlightBytes == 3 * Self.mebibyte + 3000)
        try await fixture.fetch(second)
        #expect(try await bound(1, fixture).count == 1)
    }

    @Test func anUploadCountsWithItsResponse() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        let claim = try #require(try await fixture.claim().first)
        for (expected, bytes) in [(nil, 1030), (50, 1050)] as [(Int64?, Int64)] {
            let progress = AttemptProgress(
                task: claim.task,
                fence: claim.fence,
                bytesReceived: 30,
                bytesExpected: expected,
                bytesToSend: 1000
            )
            try await fixture.stores.parts.recordProgress([progress])
            let storage = try await fixture.stores.tenants.storage(of: fixture.tenant)
            #expect(storage.inFlightBytes == bytes)
        }
    }

    /// Servers announce what they like, and what one tenant's tells is in the sum of all.
    @Test func numbersThatNoSumHoldsStopNobody() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4)
        let running = try await fixture.claim(2)
        let told = zip(running, [nil, 5] as [Int64?]).map { claim, bytesToSend in
            AttemptProgress(
                task: claim.task,
                fence: claim.fence,
                bytesReceived: 0,
                bytesExpected: .max,
                bytesToSend: bytesToSend
            )
        }
        try await fixture.stores.parts.recordProgress(told)
        let storage = try await fixture.stores.tenants.storage(of: fixture.tenant)
        #expect(storage.inFlightBytes == .max)
        try await limit(TenantLimitChanges(storedBytesMax: .max), fixture)
        #expect(try await bound(1, fixture).isEmpty)
        #expect(try await wait(ids[2], fixture) == .storedBytes)
        try await fixture.stores.stagedBodies.reserve(.max, for: ids[3], of: fixture.tenant)
        #expect(try await bound(1, fixture).isEmpty)
        // A tenant without a limit of bytes has the room that its other limit leaves.
        try await limit(
            TenantLimitChanges(runningTasksMax: 3, storedBytesMax: .some(nil)),
            fixture
        )
        #expect(try await bound(2, fixture, byBytes: false).map(\.task) == [ids[2]])
    }

    @Test func whatEndedDownloadsHaveLeftCounts() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let parts = fixture.stores.parts
        try await parts.recordProgress([StoreFixture.progress(of: id, fence: claim.fence)])
        try await parts.recordDurable([(claim.fence, 600, nil)])
        let token = ResumeDataID(UUID())
        _ = try await fixture.stores.control.cancelTask(
            tenant: fixture.tenant,
            id: id,
            producing: token
        )
        func stored() async throws -> Int64 {
            try await fixture.stores.tenants.storage(of: fixture.tenant).storedBytes
        }
        #expect(try await stored() == 600)
        try await limit(TenantLimitChanges(storedBytesMax: 600), fixture)
        let next = try await fixture.submit()[0]
        #expect(try await bound(1, fixture).isEmpty)
        #expect(try await wait(next, fixture) == .storedBytes)
        // A task that takes them up has them under way.
        try await fixture.submit { submission, _ in submission.resumeData = token }
        #expect(try await stored() == 0)
    }

    @Test func ofManyKeptPartsTheLargestCount() async throws {
        let fixture = try await StoreFixture()
        let most = Int64(TenantStore.keptPartsMax)
        _ = try await fixture.aside.execute(
            """
            INSERT INTO resume_data (
                id, tenant_id, part_fence, source_task_id, boot_id, bytes_durable, bytes_total,
                validator)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid), k, gen_random_uuid(),
                gen_random_uuid(), CASE k WHEN 1 THEN 1 ELSE 1000 END, 1000, 'v1'
            FROM generate_series(1, \(most + 1)) k
            """
        )
        let storage = try await fixture.stores.tenants.storage(of: fixture.tenant)
        #expect(storage.storedBytes == 1000 * most)
    }

    @Test func aLimitOfRunningTasksIsTold() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        try await limit(TenantLimitChanges(runningTasksMax: 1), fixture)
        #expect(try await wait(ids[0], fixture) != .runningTasks)
        #expect(try await fixture.claim(1).count == 1)
        #expect(try await wait(ids[1], fixture) == .runningTasks)
    }
}

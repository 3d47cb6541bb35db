import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The assignment of tasks to clients that reconnect.
@Suite(.postgresSchema) struct ReconnectionStoreTests {
    private func reconnect(
        _ fixture: StoreFixture,
        time: LeaseTime = .seconds(60),
        after: TaskID? = nil,
        limit: Int = 1000
    ) async throws -> Reconnection {
        try await fixture.stores.sessions.reconnect(
            try await fixture.session().id,
            owner: "worker-1",
            time: time,
            after: after,
            limit: limit
        )
    }

    private func endLeases(_ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            """
            UPDATE task_owner SET expires_at = clock_timestamp() - interval '1 s'
            WHERE expires_at IS NOT NULL
            """
        )
    }

    @Test func givesWhatIsRunningAndWhatHasEndedToOneCaller() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4) { task, number in
            task.clientString = ClientString("task \(number)")
        }
        let claims = try await fixture.claim()
        try await fixture.complete([claims[0]])
        try await fixture.end([claims[1]], .failed(StoreFixture.failure))
        let taken = try await reconnect(fixture)
        #expect(taken.items.map(\.id) == ids)
        #expect(
            taken.items.map { $0.task?.state } == [.completed, .failed, .running, .running]
        )
        // A late caller gets the whole result.
        #expect(taken.items[0].task?.result?.etag == StoreFixture.result.etag)
        #expect(taken.items[1].task?.failure?.code == StoreFixture.failure.code)
        #expect(taken.items.map { $0.task?.clientString?.string }.first == "task 0")
        #expect(taken.next == nil)
        #expect(try await reconnect(fixture).items.isEmpty)
        let more = try await fixture.submit()
        #expect(try await reconnect(fixture).items.map(\.id) == more)
        try await fixture.checkInvariants()
    }

    @Test func pagesGoOnWhereTheLastOneEnded() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(7)
        var found: [TaskID] = []
        var place: TaskID?
        repeat {
            let page = try await reconnect(fixture, after: place, limit: 3)
            found += page.items.map(\.id)
            place = page.next
        } while place != nil
        #expect(found == ids)
    }

    /// Simultaneous callers get disjoint parts, and together all.
    @Test func noTaskIsGivenToTwoAndNoneIsForgotten() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(600)
        let parts = try await withThrowingTaskGroup(of: [TaskID].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var mine: [TaskID] = []
                    var place: TaskID?
                    repeat {
                        let page = try await reconnect(fixture, after: place, limit: 25)
                        mine += page.items.map(\.id)
                        place = page.next
                    } while place != nil
                    return mine
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(parts.map(\.count).reduce(0, +) == ids.count)
        #expect(Set(parts.flatMap { $0 }) == Set(ids))
    }

    /// Leases have ended, and each owner is replaced once.
    @Test func anEndedLeaseIsTakenByOne() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(200)
        for _ in 0..<5 {
            let old = try await reconnect(fixture)
            try await endLeases(fixture)
            let parts = try await withThrowingTaskGroup(of: [TaskID].self) { group in
                for _ in 0..<6 {
                    group.addTask { try await reconnect(fixture).items.map(\.id) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(parts.flatMap { $0 }.count == ids.count)
            #expect(Set(parts.flatMap { $0 }) == Set(ids))
            // The previous owner has nothing to renew any more.
            #expect(try await tasksRenewed(old.lease, fixture, for: .forGood) == nil)
            try await endLeases(fixture)
        }
    }

    @Test func aLeaseIsRenewedReleasedAndKeptForGood() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let ids = try await fixture.submit(3)
        let taken = try await reconnect(fixture)
        let renewed = try await stores.sessions.renewLease(
            tenant: fixture.tenant,
            taken.lease,
            for: .seconds(3600)
        )
        #expect(renewed?.tasks == 3)
        #expect(try #require(renewed?.expiresAt) > Date() + 3000)
        let stranger = TenantID(UUID())
        #expect(try await !stores.sessions.releaseLease(tenant: stranger, taken.lease))
        #expect(
            try await stores.sessions.renewLease(tenant: stranger, taken.lease, for: .forGood)
                == nil
        )
        #expect(try await stores.sessions.releaseLease(tenant: fixture.tenant, taken.lease))
        #expect(try await !stores.sessions.releaseLease(tenant: fixture.tenant, taken.lease))
        let again = try await reconnect(fixture, time: .forGood)
        #expect(again.items.map(\.id) == ids)
        #expect(again.expiresAt == nil)
        try await endLeases(fixture)
        #expect(try await reconnect(fixture).items.isEmpty)
    }

    /// Renews a lease.
    ///
    /// - Returns: the number of its tasks; nil when it holds none.
    private func tasksRenewed(
        _ lease: LeaseToken,
        _ fixture: StoreFixture,
        for time: LeaseTime = .seconds(60)
    ) async throws -> Int? {
        let (sessions, tenant) = (fixture.stores.sessions, fixture.tenant)
        return try await sessions.renewLease(tenant: tenant, lease, for: time)?.tasks
    }

    /// Its client was stopped for a while.
    @Test func anEndedLeaseIsRenewedForWhatNobodyHasTaken() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3)
        let mine = try await reconnect(fixture)
        try await endLeases(fixture)
        #expect(try await tasksRenewed(mine.lease, fixture) == 3)
        #expect(try await reconnect(fixture).items.isEmpty)
        try await endLeases(fixture)
        #expect(try await reconnect(fixture, limit: 1).items.map(\.id) == [ids[0]])
        #expect(try await tasksRenewed(mine.lease, fixture) == 2)
        #expect(try await reconnect(fixture).items.isEmpty)
    }

    @Test func whatIsRenewedMeanwhileIsNotTaken() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        _ = try await reconnect(fixture)
        try await endLeases(fixture)
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute(
            "UPDATE task_owner SET expires_at = clock_timestamp() + interval '1 hour'"
        )
        async let taken = reconnect(fixture)
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        await other.close()
        #expect(try await taken.items.isEmpty)
    }

    @Test func oneTaskThatCannotBeReadChangesNoOther() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3) { task, _ in task.clientString = ClientString("a") }
        let claims = try await fixture.claim()
        try await fixture.end([claims[1]], .failed(StoreFixture.failure))
        // As a later release would write it.
        _ = try await fixture.aside.execute(
            """
            UPDATE outcome SET failure = '{"code": "of_the_future", "message": "?"}'
            """
        )
        let items = try await reconnect(fixture).items
        #expect(items.map(\.id) == ids)
        #expect(items.map { $0.task == nil } == [false, true, false])
    }

    @Test func whoeverReconnectsIsToldAnewOfWhatWaits() async throws {
        let fixture = try await StoreFixture()
        func ask() async throws {
            try await fixture.submit { submission, _ in
                submission.earliestBeginAt = Date().addingTimeInterval(3600)
                submission.options.asksToBegin = true
            }
            _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
            _ = try await fixture.stores.queue.promoteDue()
        }
        func told() async throws -> Int {
            try await fixture.events().count { $0.kind == .sessionEventsPending }
        }
        try await ask()
        try await ask()
        #expect(try await told() == 1)
        _ = try await reconnect(fixture)
        try await ask()
        #expect(try await told() == 2)
        try await fixture.checkInvariants()
    }

    @Test func anOwnerIsErasedWithItsTask() async throws {
        let fixture = try await StoreFixture()
        let hidden = try await fixture.putSession("hidden", kind: .ephemeral)
        let id = try await fixture.submit(1, to: "hidden")[0]
        _ = try await fixture.stores.sessions.reconnect(
            hidden.id,
            owner: nil,
            time: .forGood,
            after: nil,
            limit: 10
        )
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "hidden"
        )
        #expect(try await fixture.stores.erasure.tasksToErase().map(\.task) == [id])
        try await fixture.stores.erasure.erase([id])
        #expect(try await fixture.count("SELECT count(*) AS count FROM task_owner") == 0)
        try await fixture.checkInvariants()
    }

    /// A removal removes the owners that it sees.
    @Test func aTaskThatIsBeingRemovedGetsNoOwner() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3)
        let removal = try await TestDatabase.current.connection()
        _ = try await removal.execute("BEGIN")
        _ = try await removal.execute("DELETE FROM task WHERE id = \(ids[1].uuid)")
        async let taken = reconnect(fixture, limit: 2)
        try await fixture.eventuallyWaits(for: removal)
        _ = try await removal.execute("COMMIT")
        await removal.close()
        let first = try await taken
        #expect(first.items.map(\.id) == [ids[0]])
        #expect(first.next == ids[1])
        #expect(try await reconnect(fixture, after: first.next).items.map(\.id) == [ids[2]])
        #expect(try await fixture.count("SELECT count(*) AS count FROM task_owner") == 2)
    }

    /// Renews a lease, or releases it.
    ///
    /// - Returns: whether it held any task.
    private func change(
        _ lease: LeaseToken,
        isRenewal: Bool,
        _ fixture: StoreFixture
    ) async throws -> Bool {
        if isRenewal { return try await tasksRenewed(lease, fixture, for: .forGood) != nil }
        return try await fixture.stores.sessions.releaseLease(tenant: fixture.tenant, lease)
    }

    /// The new owner is seen once its row can be locked.
    @Test(arguments: [false, true])
    func aTaskThatIsTakenOverMeanwhileStaysWithItsNewOwner(isRenewal: Bool) async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        let taken = try await reconnect(fixture)
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute("UPDATE task_owner SET lease_token = gen_random_uuid()")
        async let isHeld = change(taken.lease, isRenewal: isRenewal, fixture)
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        await other.close()
        #expect(try await !isHeld)
        let left = try await fixture.count("SELECT count(expires_at) AS count FROM task_owner")
        #expect(left == 1)
    }

    /// Statements that lock several owners.
    enum Change: CaseIterable {
        case renewal, release, endOfClient, removal, erasure, expiry
    }

    private static let client = ClientID(stored: "share")

    private func make(
        _ change: Change,
        of lease: LeaseToken,
        _ ids: [TaskID],
        _ fixture: StoreFixture
    ) async throws {
        let (stores, tenant) = (fixture.stores, fixture.tenant)
        switch change {
        case .renewal:
            #expect(try await tasksRenewed(lease, fixture) == 2)
        case .release:
            #expect(try await stores.sessions.releaseLease(tenant: tenant, lease))
        case .endOfClient:
            let client = try await stores.clients.terminate(tenant: tenant, id: Self.client)
            #expect(client?.lifecycle == .terminated)
        case .removal:
            try await fixture.removeOwners()
        case .erasure:
            try await stores.erasure.erase(ids)
        case .expiry:
            try await stores.retention.expire(ids)
        }
    }

    /// A reconnection takes them in this order.
    ///
    /// A deadlock would not be seen, because what it undoes is repeated.
    @Test(arguments: Change.allCases)
    func ownersAreLockedInTheOrderOfTheirTasks(change: Change) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        if change == .expiry {
            try await fixture.end(try await fixture.claim(), .failed(StoreFixture.failure))
        }
        let lease = LeaseToken(UUID())
        _ = try await fixture.stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.client,
            kind: .app
        )
        // The last task's comes first in the table, and in the index of leases and of clients.
        for id in ids.reversed() {
            _ = try await fixture.aside.execute(
                """
                INSERT INTO task_owner (task_id, tenant_id, lease_token, expires_at, client_id)
                SELECT \(id.uuid), c.tenant_id, \(lease.uuid), now() + interval '1 hour', c.id
                FROM client c
                WHERE c.tenant_id = \(fixture.tenant.uuid)
                    AND c.identifier = \(Self.client.name)
                """
            )
        }
        if change == .removal {
            // Its force quit has given back as many leases as one call does.
            _ = try await fixture.aside.execute(
                "UPDATE client SET removed_at = now() WHERE identifier = \(Self.client.name)"
            )
        }
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            "SELECT FROM task_owner WHERE task_id = \(ids[0].uuid) FOR UPDATE"
        )
        async let made: Void = make(change, of: lease, ids, fixture)
        try await fixture.eventuallyWaits(for: holder)
        #expect(try await fixture.countOfUnlocked("task_owner") == 1)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        try await made
        let left = try await fixture.count("SELECT count(*) AS count FROM task_owner")
        #expect(left == (change == .renewal ? 2 : 0))
    }
}

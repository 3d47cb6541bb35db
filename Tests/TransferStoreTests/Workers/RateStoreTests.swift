import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The limits that workers read, and when they read them.
@Suite(.postgresSchema) struct RateStoreTests {
    private func limits(
        _ fixture: StoreFixture,
        _ claims: [TaskClaim],
        by worker: WorkerIdentity? = nil
    ) async throws -> [Fence: RateLimits] {
        try await fixture.stores.workers.controls(
            incarnation: (worker ?? fixture.worker).incarnation,
            RateQuery(version: claims.map(\.limits.version).min())
        ).limits
    }

    private func configuration(each: Int64?, total: Int64?) -> SessionConfiguration {
        var configuration = SessionConfiguration(totalBytesPerSecondMax: total)
        configuration.options.bytesPerSecondMax = each
        return configuration
    }

    @Test func aClaimTellsTheLimitsOfTaskSessionAndTenant() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        #expect(try await fixture.claim().map(\.limits.isLimited) == [false])
        let session = try await fixture.putSession(
            "limited",
            configuration(each: 2000, total: 3000)
        )
        #expect(session.configuration.totalBytesPerSecondMax == 3000)
        let isKnown = try await fixture.stores.tenants.limitTenant(
            named: "test",
            changes: TenantLimitChanges(totalBytesPerSecondMax: 4000)
        )
        #expect(isKnown)
        try await fixture.submit(2, to: "limited") { submission, index in
            if index == 1 { submission.options.bytesPerSecondMax = 5000 }
        }
        let claims = try await fixture.claim()
        #expect(claims.map(\.limits.task) == [2000, 5000])
        #expect(claims.map(\.limits.session) == [3000, 3000])
        #expect(claims.map(\.limits.tenant) == [4000, 4000])
    }

    @Test func aChangeOfALimitIsToldToWorkersThatRunSomething() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claims = try await fixture.claim()
        let fence = claims[0].fence
        #expect(try await limits(fixture, claims).isEmpty)

        var change = TaskChange()
        change.bytesPerSecondMax = .some(2000)
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
        #expect(try await limits(fixture, claims)[fence]?.task == 2000)

        try await fixture.putSession(configuration: configuration(each: 9000, total: 3000))
        let told = try #require(try await limits(fixture, claims)[fence])
        #expect(told.task == 2000)
        #expect(told.session == 3000)
        #expect(told.version > claims[0].limits.version)

        let session = try await fixture.session()
        var configuration = session.configuration
        configuration.totalBytesPerSecondMax = nil
        #expect(try await fixture.stores.sessions.changeSession(session, to: configuration))
        _ = try await fixture.stores.tenants.limitTenant(
            named: "test",
            changes: TenantLimitChanges(totalBytesPerSecondMax: 4000)
        )
        let last = try #require(try await limits(fixture, claims)[fence])
        #expect(last.session == nil)
        #expect(last.tenant == 4000)

        change.bytesPerSecondMax = .some(nil)
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
        #expect(try await limits(fixture, claims)[fence]?.task == 9000)
        // Nobody else is told of it.
        #expect(try await limits(fixture, claims, by: fixture.otherWorker()).isEmpty)
    }

    @Test func whatLimitsNothingAnewIsNoNews() async throws {
        let fixture = try await StoreFixture()
        let same = configuration(each: 2000, total: 3000)
        try await fixture.putSession(configuration: same)
        let id = try await fixture.submit()[0]
        let claims = try await fixture.claim()
        try await fixture.putSession(configuration: same)
        var other = same
        other.timeoutForRequest = .seconds(7)
        other.options.redirectsMax = 3
        #expect(try await fixture.stores.sessions.changeSession(fixture.session(), to: other))
        var change = TaskChange()
        change.priority = TaskPriority(1)
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
        #expect(try await limits(fixture, claims).isEmpty)
    }

    @Test func aTasksOtherOptionsOutliveItsLimit() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, index in
            if index == 1 { submission.options.redirectsMax = 3 }
        }
        for limit in [2000, 3000, nil] as [Int64?] {
            for id in ids {
                var change = TaskChange()
                change.bytesPerSecondMax = .some(limit)
                _ = try await fixture.stores.control.changeTask(
                    tenant: fixture.tenant,
                    id: id,
                    change
                )
                #expect(try await fixture.task(id).options.bytesPerSecondMax == limit)
            }
        }
        #expect(try await fixture.task(ids[0]).options.isEmpty)
        #expect(try await fixture.task(ids[1]).options.redirectsMax == 3)
    }

    @Test func thoseWhoShareALimitAreCounted() async throws {
        let fixture = try await StoreFixture()
        let first = try await fixture.session()
        let second = try await fixture.putSession("second")
        let other = try await fixture.otherWorker()
        try await fixture.submit(3)
        try await fixture.submit(2, to: "second")
        _ = try await fixture.claim(4)
        _ = try await fixture.claim(by: other)
        let owners: [RateOwner] = [
            .session(first.id), .session(second.id), .tenant(fixture.tenant),
            .tenant(TenantID(UUID())),
        ]
        for (worker, own) in [(fixture.worker, 4), (other, 1)] as [(WorkerIdentity, Int64)] {
            let sharers = try await fixture.stores.workers.controls(
                incarnation: worker.incarnation,
                RateQuery(owners: owners)
            ).sharers
            #expect(sharers[.tenant(fixture.tenant)] == Controls.Sharers(own: own, all: 5))
            #expect(sharers[.session(first.id)]?.all == 3)
            #expect(sharers[.session(second.id)]?.all == 2)
            #expect(sharers.count == 3)
            let inSessions = [first, second].reduce(0) {
                $0 + (sharers[.session($1.id)]?.own ?? 0)
            }
            #expect(inSessions == own)
        }
    }

    @Test func aChangeOfWhatHasChangedMeanwhileIsRefused() async throws {
        let fixture = try await StoreFixture()
        let read = try await fixture.session()
        #expect(try await fixture.stores.sessions.changeSession(read, to: read.configuration))
        #expect(try await !fixture.stores.sessions.changeSession(read, to: read.configuration))
        let now = try await fixture.session()
        try await fixture.putSession()
        #expect(try await !fixture.stores.sessions.changeSession(now, to: now.configuration))
        let last = try await fixture.session()
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        #expect(try await !fixture.stores.sessions.changeSession(last, to: last.configuration))
    }

    @Test func aTenantThatIsNotThereIsNotLimited() async throws {
        let fixture = try await StoreFixture()
        let isKnown = try await fixture.stores.tenants.limitTenant(
            named: "nobody",
            changes: TenantLimitChanges(totalBytesPerSecondMax: 4000)
        )
        #expect(!isKnown)
    }
}

extension StoreFixture {
    @discardableResult
    fileprivate func putSession(configuration: SessionConfiguration) async throws -> Session {
        try await putSession(Self.identifier, configuration)
    }
}

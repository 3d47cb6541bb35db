import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What is paused begins nothing.
@Suite(.postgresSchema) struct PauseTests {
    private static let host = HostKey(host: "files.test", port: 443)

    private func pause(
        _ fixture: StoreFixture,
        tenant: TenantID? = nil,
        host: HostKey? = nil,
        isByTenant: Bool = false,
        givesBack: Bool = false
    ) -> Pause {
        Pause(
            scope: Pause.Scope(tenant: tenant, host: host),
            hostName: host.map { _ in "files.test:443" },
            isByTenant: isByTenant,
            givesBack: givesBack,
            pausedAt: Date()
        )
    }

    private func flows(_ fixture: StoreFixture) async throws -> [Bool] {
        try await fixture.stores.queue.waitingFlows(in: [Int64.min...Int64.max]).map(\.mayBegin)
    }

    @Test func nothingThatIsPausedBeginsUntilItIsResumed() async throws {
        let fixture = try await StoreFixture()
        let store = PauseStore(fixture.stores.database)
        let pauses = [
            pause(fixture), pause(fixture, tenant: fixture.tenant),
            pause(fixture, host: Self.host),
            pause(fixture, tenant: fixture.tenant, host: Self.host),
            pause(fixture, tenant: fixture.tenant, isByTenant: true),
        ]
        for pause in pauses {
            let ids = try await fixture.submit(2) { submission, _ in
                submission.hostKey = Self.host
            }
            #expect(try await store.pause(pause))
            #expect(try await fixture.claim().isEmpty)
            #expect(try await flows(fixture) == [false])
            // Submissions are accepted.
            let later = try await fixture.submit(1) { submission, _ in
                submission.hostKey = Self.host
            }
            let wait = try #require(try await fixture.stores.tasks.queueWait(of: ids[0]))
            #expect(wait.cause(connectionsDefault: 6) == .paused)
            #expect(wait.pause?.scope == pause.scope)
            #expect(wait.pause?.isByTenant == pause.isByTenant)
            // Nobody else's word ends it.
            #expect(try await !store.endPause(pause.scope, isByTenant: !pause.isByTenant))
            #expect(try await fixture.claim().isEmpty)
            #expect(try await store.endPause(pause.scope, isByTenant: pause.isByTenant))
            #expect(try await flows(fixture) == [true])
            #expect(Set(try await fixture.claim().map(\.task)) == Set(ids + later))
            try await fixture.checkInvariants()
        }
    }

    @Test func othersAreNotPaused() async throws {
        let fixture = try await StoreFixture()
        let store = PauseStore(fixture.stores.database)
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
        try await fixture.submit(1)
        for pause in [
            pause(fixture, tenant: other), pause(fixture, host: Self.host),
            pause(fixture, tenant: other, host: StoreFixture.hostKey),
        ] {
            #expect(try await store.pause(pause))
        }
        #expect(try await store.pauses(of: fixture.tenant).count == 1)
        #expect(try await store.pauses().count == 3)
        #expect(try await fixture.claim().count == 1)
        let vitals = try await fixture.stores.fleet.vitals(silentFor: .seconds(10))
        #expect(vitals.pauses == PauseCounts(tenants: 1, hosts: 2))
    }

    @Test func aScopeIsPausedOnceByEachAuthor() async throws {
        let fixture = try await StoreFixture()
        let store = PauseStore(fixture.stores.database)
        let tenant = fixture.tenant
        #expect(try await store.pause(pause(fixture, tenant: tenant)))
        #expect(try await store.pause(pause(fixture, tenant: tenant, givesBack: true)))
        #expect(try await store.pause(pause(fixture, tenant: tenant, isByTenant: true)))
        let pauses = try await store.pauses()
        #expect(pauses.map(\.isByTenant) == [false, true])
        #expect(pauses.map(\.givesBack) == [true, false])
        let controls = try await fixture.stores.workers.controls(
            incarnation: fixture.worker.incarnation
        )
        #expect(controls.pauses == pauses)
    }
}

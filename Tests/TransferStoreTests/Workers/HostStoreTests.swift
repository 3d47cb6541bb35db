import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct HostStoreTests {
    private static let hostKey = HostKey(host: "files.test", port: 443)

    private func change(
        _ before: Int,
        _ after: Int,
        _ reason: String = "Because.",
        hostKey: HostKey = hostKey,
        name: String = "files.test:443",
        connections: Int? = 3,
        isClosed: Bool = false,
        tenants: [TenantID]
    ) -> HostChange {
        HostChange(
            hostKey: hostKey,
            name: name,
            decision: RemoteHost.Decision(
                decidedAt: Date(timeIntervalSince1970: 1_000_000),
                before: before,
                after: after,
                reason: reason
            ),
            connections: connections,
            isClosed: isClosed,
            tenants: tenants
        )
    }

    @Test func decisionsAreKeptNewestFirst() async throws {
        let fixture = try await StoreFixture()
        let mine = [fixture.tenant]
        try await fixture.stores.hosts.record([
            change(6, 3, "One.", tenants: mine), change(3, 4, "Two.", tenants: mine),
        ])
        try await fixture.stores.hosts.record([
            change(4, 0, "Three.", isClosed: true, tenants: mine)
        ])
        let host = try #require(
            try await fixture.stores.hosts.host(Self.hostKey, tenant: fixture.tenant)
        )
        #expect(host.name == "files.test:443")
        #expect(host.isClosed)
        // The number that it is given once it is open.
        #expect(host.connections == 3)
        #expect(host.decisions.map(\.reason) == ["Three.", "Two.", "One."])
        #expect(host.decisions.map(\.before) == [4, 3, 6])
        #expect(host.decisions.map(\.after) == [0, 4, 3])
        try await fixture.stores.hosts.record([change(5, 6, connections: nil, tenants: mine)])
        let well = try #require(
            try await fixture.stores.hosts.host(Self.hostKey, tenant: fixture.tenant)
        )
        #expect(well.connections == nil)
        #expect(!well.isClosed)
    }

    @Test func onlyTheNewestHundredAreKept() async throws {
        let fixture = try await StoreFixture()
        let changes = (1...150).map { change($0, $0 + 1, tenants: [fixture.tenant]) }
        try await fixture.stores.hosts.record(Array(changes.prefix(80)))
        try await fixture.stores.hosts.record(Array(changes.suffix(70)))
        let host = try #require(
            try await fixture.stores.hosts.host(Self.hostKey, tenant: fixture.tenant)
        )
        #expect(host.decisions.map(\.before) == (51...150).reversed())
        #expect(try await fixture.count("SELECT count(*) AS count FROM host_decision") == 100)
    }

    @Test func onlyWhoseTasksItConcernsReadsOfIt() async throws {
        let fixture = try await StoreFixture()
        let other = try await Self.otherTenant(fixture)
        try await fixture.stores.hosts.record([
            change(6, 3, tenants: [fixture.tenant]),
            change(
                6,
                3,
                hostKey: HostKey(host: "a.test", port: 80),
                name: "a.test:80",
                tenants: [fixture.tenant, other]
            ),
        ])
        let mine = try await fixture.stores.hosts.hosts(tenant: fixture.tenant, limit: 10)
        #expect(mine.map(\.name) == ["a.test:80", "files.test:443"])
        let rest = try await fixture.stores.hosts.hosts(
            tenant: fixture.tenant,
            after: "a.test:80",
            limit: 10
        )
        #expect(rest.map(\.name) == ["files.test:443"])
        #expect(try await fixture.stores.hosts.hosts(tenant: other, limit: 10).count == 1)
        #expect(try await fixture.stores.hosts.host(Self.hostKey, tenant: other) == nil)
    }

    @Test func aNewOwnerLearnsWhatIsKnownOfItsHosts() async throws {
        let fixture = try await StoreFixture()
        let first = try await fixture.stores.workers.registerWorker(
            name: "first",
            leasesShards: true
        )
        #expect(try await fixture.stores.workers.leaseShards(incarnation: first).hosts.isEmpty)
        try await fixture.stores.hosts.record([change(6, 3, tenants: [fixture.tenant])])
        let bound = HostKey(host: "bound.test", port: 443)
        #expect(
            try await fixture.stores.hosts.limitHost(
                bound,
                name: "bound.test:443",
                maxConnections: 9
            )
        )
        let lease = try await fixture.stores.workers.leaseShards(incarnation: first)
        #expect(
            lease.hosts == [
                Self.hostKey: HostState(maxConnections: nil, connections: 3),
                bound: HostState(maxConnections: 9, connections: nil),
            ]
        )
        // What is known of its own hosts it has found out itself.
        let known = try await fixture.stores.workers.leaseShards(
            incarnation: first,
            knowing: Set(Shard.all)
        )
        #expect(Array(known.hosts.keys) == [bound])
        let other = try await fixture.stores.workers.leaseShards(
            incarnation: first,
            knowing: Set(Shard.all).subtracting([Self.hostKey.shard])
        )
        #expect(other.hosts[Self.hostKey]?.connections == 3)
        #expect(
            try await fixture.stores.hosts.limitHost(
                bound,
                name: "bound.test:443",
                maxConnections: nil
            )
        )
        try await fixture.stores.hosts.record([
            change(5, 6, connections: nil, tenants: [fixture.tenant])
        ])
        #expect(try await fixture.stores.workers.leaseShards(incarnation: first).hosts.isEmpty)
    }

    /// However many hosts have trouble, an operator's setting is never left out.
    @Test func aNewOwnerLearnsEveryBoundOfAnOperator() async throws {
        let fixture = try await StoreFixture()
        let worker = try await fixture.stores.workers.registerWorker(
            name: "first",
            leasesShards: true
        )
        #expect(
            try await fixture.stores.hosts.limitHost(Self.hostKey, name: "a:1", maxConnections: 9)
        )
        _ = try await fixture.aside.execute(
            """
            INSERT INTO host (host_key, name, connections, changed_at)
            SELECT n, 'h:1', 3, now() - n * interval '1 s' FROM generate_series(1, 3000) AS n
            """
        )
        let hosts = try await fixture.stores.workers.leaseShards(incarnation: worker).hosts
        // The newest of the shard.
        #expect(hosts.count == 2001)
        #expect(hosts[HostKey(rawValue: 2000)] != nil)
        #expect(hosts[HostKey(rawValue: 2001)] == nil)
        #expect(hosts[Self.hostKey]?.maxConnections == 9)
    }

    /// Otherwise whoever has tasks for many addresses fills the table, and all read it.
    @Test func aTenantWithManyHostsLeavesNoTraceOfMore() async throws {
        let fixture = try await StoreFixture()
        let other = try await Self.otherTenant(fixture)
        try await Self.fill(fixture, hosts: 999)
        let (last, shared) = (HostKey(rawValue: 5000), HostKey(rawValue: 5001))
        let (surplus, known) = (HostKey(rawValue: 5002), HostKey(rawValue: 7))
        try await fixture.stores.hosts.record([
            change(6, 3, hostKey: last, name: "last:1", tenants: [fixture.tenant]),
            change(6, 3, hostKey: shared, name: "shared:1", tenants: [fixture.tenant, other]),
            change(6, 3, hostKey: surplus, name: "surplus:1", tenants: [fixture.tenant]),
            change(3, 1, hostKey: known, name: "h7:1", connections: 1, tenants: [fixture.tenant]),
        ])
        let stored = try await fixture.aside.execute(
            "SELECT host_key FROM host WHERE host_key = 7 OR host_key >= 5000 ORDER BY host_key"
        )
        let keys = try stored.map { try $0.decode("host_key", as: Int64.self) }
        #expect(keys == [7, 5000, 5001])
        #expect(try await fixture.stores.hosts.host(last, tenant: fixture.tenant) != nil)
        #expect(try await fixture.stores.hosts.host(shared, tenant: fixture.tenant) == nil)
        #expect(try await fixture.stores.hosts.host(shared, tenant: other) != nil)
        let changed = try await fixture.stores.hosts.host(known, tenant: fixture.tenant)
        #expect(changed?.connections == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM host_decision") == 3)
    }

    @Test func ofATenantWithManyHostsTheNewestAreKept() async throws {
        let fixture = try await StoreFixture()
        let other = TenantID(UUID())
        try await Self.fill(fixture, hosts: 1000)
        let (shared, bound) = (HostKey(rawValue: 999), HostKey(rawValue: 998))
        _ = try await fixture.aside.execute(
            "INSERT INTO host_tenant VALUES (\(other.uuid), \(shared.rawValue))"
        )
        _ = try await fixture.stores.hosts.limitHost(bound, name: "h:1", maxConnections: 3)
        _ = try await fixture.aside.execute(
            "UPDATE host SET changed_at = now() - interval '1 h' WHERE host_key = 998"
        )
        #expect(try await fixture.stores.hosts.pruneHosts() == 500)
        #expect(try await fixture.stores.hosts.pruneHosts() == 0)
        let mine = try await fixture.stores.hosts.hosts(tenant: fixture.tenant, limit: 1000)
        #expect(Set(mine.map(\.name)) == Set((1...500).map { "h\($0):1" }))
        #expect(try await fixture.stores.hosts.host(shared, tenant: other) != nil)
        let left = "SELECT count(*) AS count FROM host WHERE host_key > 500" as Query
        #expect(try await fixture.count(left) == 2)
    }

    @Test func aHostThatIsChangedMeanwhileIsNotForgotten() async throws {
        let fixture = try await StoreFixture()
        try await Self.fill(fixture, hosts: 501)
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute("UPDATE host SET changed_at = now() WHERE host_key = 501")
        async let removed = fixture.stores.hosts.pruneHosts()
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        await other.close()
        #expect(try await removed == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM host") == 501)
    }

    private static func otherTenant(_ fixture: StoreFixture) async throws -> TenantID {
        try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
    }

    @Test func ofARemovedTenantNoHostIsRemembered() async throws {
        let fixture = try await StoreFixture()
        let other = try await Self.otherTenant(fixture)
        _ = try await fixture.stores.ownerRemovals.beginTenantRemoval(named: "other")
        // Its last transfers end while it is being removed.
        try await fixture.stores.hosts.record([change(6, 3, tenants: [other, fixture.tenant])])
        #expect(try await fixture.stores.hosts.host(Self.hostKey, tenant: fixture.tenant) != nil)
        #expect(try await fixture.count("SELECT count(*) AS count FROM host_tenant") == 1)
    }

    /// Stores hosts of the fixture's tenant, the newest first.
    private static func fill(_ fixture: StoreFixture, hosts: Int64) async throws {
        _ = try await fixture.aside.execute([
            """
            INSERT INTO host (host_key, name, connections, changed_at)
            SELECT n, 'h' || n || ':1', 3, now() - n * interval '1 s'
            FROM generate_series(1, \(hosts)) AS n
            """,
            """
            INSERT INTO host_tenant (tenant_id, host_key)
            SELECT \(fixture.tenant.uuid), n FROM generate_series(1, \(hosts)) AS n
            """,
        ])
    }

    @Test func aNewOwnerHasYetToFindOutWhetherAHostIsThere() async throws {
        let fixture = try await StoreFixture()
        let mine = [fixture.tenant]
        func isClosed() async throws -> Bool? {
            try await fixture.stores.hosts.host(Self.hostKey, tenant: fixture.tenant)?.isClosed
        }
        let first = try await fixture.stores.workers.registerWorker(
            name: "first",
            leasesShards: true
        )
        _ = try await fixture.stores.workers.leaseShards(incarnation: first)
        try await fixture.stores.hosts.record([change(6, 0, isClosed: true, tenants: mine)])
        _ = try await fixture.stores.workers.leaseShards(incarnation: first)
        #expect(try await isClosed() == true)
        try await fixture.stores.workers.retireWorker(incarnation: first)
        let second = try await fixture.stores.workers.registerWorker(
            name: "second",
            leasesShards: true
        )
        _ = try await fixture.stores.workers.leaseShards(incarnation: second)
        #expect(try await isClosed() == false)
    }

    @Test func hostsOfWhichNothingWasDecidedForLongAreForgotten() async throws {
        let fixture = try await StoreFixture()
        let mine = [fixture.tenant]
        let (well, bound) = (HostKey(rawValue: 1), HostKey(rawValue: 2))
        try await fixture.stores.hosts.record([
            change(5, 6, hostKey: well, name: "well:1", connections: nil, tenants: mine),
            change(5, 6, hostKey: bound, name: "bound:1", connections: nil, tenants: mine),
            change(6, 3, tenants: mine),
        ])
        _ = try await fixture.stores.hosts.limitHost(bound, name: "bound:1", maxConnections: 3)
        #expect(try await fixture.stores.hosts.pruneHosts() == 0)
        _ = try await fixture.aside.execute(
            "UPDATE host SET changed_at = now() - interval '31 days'"
        )
        // Including the one that is still given less.
        #expect(try await fixture.stores.hosts.pruneHosts() == 2)
        let names = try await fixture.stores.hosts.hosts(tenant: fixture.tenant, limit: 9).map(
            \.name
        )
        #expect(names == ["bound:1"])
        #expect(try await fixture.stores.hosts.host(well, tenant: fixture.tenant) == nil)
        #expect(
            try await fixture.count(
                "SELECT count(*) AS count FROM host_decision WHERE host_key = 1"
            )
                == 0
        )
    }
}

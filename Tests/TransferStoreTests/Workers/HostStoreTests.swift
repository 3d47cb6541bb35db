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
        let other = TenantID(UUID())
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
        try await fixture.stores.hosts.record([change(6, 3, tenants: [])])
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
        #expect(
            try await fixture.stores.hosts.limitHost(
                bound,
                name: "bound.test:443",
                maxConnections: nil
            )
        )
        try await fixture.stores.hosts.record([change(5, 6, connections: nil, tenants: [])])
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
            INSERT INTO host (host_key, name, connections)
            SELECT n, 'h:1', 3 FROM generate_series(1, 10000) AS n
            """
        )
        let hosts = try await fixture.stores.workers.leaseShards(incarnation: worker).hosts
        #expect(hosts.count == 10_000)
        #expect(hosts[Self.hostKey]?.maxConnections == 9)
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

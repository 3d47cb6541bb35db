import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The egress rules of tenants, and where instances listen.
@Suite(.postgresSchema) struct EgressRulesStoreTests {
    @Test func rulesAreReadAsTheyWereSet() async throws {
        let fixture = try await StoreFixture()
        let tenants = fixture.stores.tenants
        #expect(try await tenants.egressVersions().isEmpty)
        #expect(try await tenants.egressRules(of: [fixture.tenant]).isEmpty)
        #expect(try await tenants.egressRules(ofTenantNamed: "test") == EgressRules())
        #expect(try await tenants.egressRules(ofTenantNamed: "nobody") == nil)
        var rules = EgressRules()
        rules.allowedNetworks = [try #require(EgressPolicy.Network("203.0.113.0/24"))]
        rules.deniedNetworks = [try #require(EgressPolicy.Network("fd00::/8"))]
        rules.allowedHosts = [".example.com"]
        rules.deniedHosts = ["secret.example.com"]
        rules.ports = [443, 8443]
        #expect(try await tenants.setEgressRules(rules, ofTenantNamed: "test"))
        let read = try await tenants.egressRules(of: [fixture.tenant])
        #expect(read.mapValues(\.rules) == [fixture.tenant: rules])
        #expect(try await tenants.egressVersions() == read.mapValues(\.version))
        #expect(try await tenants.egressRules(ofTenantNamed: "test") == rules)
        #expect(try await !tenants.setEgressRules(rules, ofTenantNamed: "nobody"))
        #expect(try await tenants.setEgressRules(EgressRules(), ofTenantNamed: "test"))
        #expect(try await tenants.egressVersions().isEmpty)
        #expect(try await tenants.egressRules(of: [fixture.tenant]).isEmpty)
    }

    /// Who knows a version does not read the rules again.
    @Test func eachChangeOfRulesHasAVersionOfItsOwn() async throws {
        let fixture = try await StoreFixture()
        let tenants = fixture.stores.tenants
        var rules = EgressRules()
        var versions: Set<String> = []
        for port: UInt16 in [443, 8443, 443] {
            rules.ports = [port]
            #expect(try await tenants.setEgressRules(rules, ofTenantNamed: "test"))
            let version = try #require(try await tenants.egressVersions()[fixture.tenant])
            #expect(try await tenants.egressVersions()[fixture.tenant] == version)
            versions.insert(version)
        }
        #expect(versions.count == 3)
    }

    @Test(arguments: [#"{"allow_networks": ["elsewhere"]}"#, #"{"ports": ["all"]}"#, "[]"])
    func rulesInAnotherFormDenyEverything(stored: String) async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.aside.execute(
            "UPDATE tenant SET egress_rules = \(stored)::text::jsonb"
        )
        let rules = try await fixture.stores.tenants.egressRules(of: [fixture.tenant])
        #expect(rules[fixture.tenant]?.rules.denyEverything == true)
    }

    @Test func instancesLearnOfEachOtherUntilTheyFallSilent() async throws {
        let fixture = try await StoreFixture()
        let store = ListenerStore(fixture.stores.database)
        let first = Listener(
            id: UUID(),
            machine: "one",
            addresses: [[10, 0, 0, 1], Array(repeating: 1, count: 16)],
            port: 8080
        )
        let second = Listener(id: UUID(), machine: "two", addresses: [[10, 0, 0, 2]], port: 65_535)
        #expect(try await store.announce(first) == [])
        #expect(try await store.announce(second) == [first])
        #expect(try await store.announce(first) == [second])
        _ = try await fixture.aside.execute(
            """
            UPDATE listener SET seen_at = seen_at - interval '61 s' WHERE id = \(second.id)
            """
        )
        #expect(try await store.announce(first) == [])
    }
}

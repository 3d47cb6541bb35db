import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    /// The verbs of clients' background work, beside a million assertions that have ended.
    static let background: [StoreVerb] = [
        StoreVerb("suspend", pages: 1000) { stores, world in
            _ = try await stores.clients.suspend(tenant: world.tenant, id: .default)
            return 1
        },
        StoreVerb("terminate", pages: 1000) { stores, world in
            _ = try await stores.clients.terminate(tenant: world.tenant, id: .default)
            return 1
        },
        StoreVerb("beginAssertion") { stores, world in
            _ = try await begin(stores, world)
            return 1
        },
        StoreVerb("endAssertion") { stores, world in
            guard let id = try await begin(stores, world) else { return 0 }
            _ = try await stores.assertions.endAssertion(id, of: world.tenant)
            return 1
        },
        StoreVerb("assertion") { stores, world in
            guard let id = try await begin(stores, world) else { return 0 }
            return try await stores.assertions.assertion(id, of: world.tenant) == nil ? 0 : 1
        },
        StoreVerb("heldAssertions") { stores, world in
            try await stores.assertions.heldAssertions(of: .default, tenant: world.tenant).count
        },
        StoreVerb("assertionLeaks") { stores, world in
            try await stores.assertions.assertionLeaks(of: .default, tenant: world.tenant).count
        },
        StoreVerb("pruneAssertions") { stores, _ in
            try await stores.assertions.pruneAssertions(endedBefore: .zero)
        },
        StoreVerb("untilNextTimer") { stores, _ in
            try await stores.timers.untilNextTimer() == nil ? 0 : 1
        },
        StoreVerb("advanceClients", pages: 1000) { stores, world in
            _ = try await stores.clients.enterBackground(tenant: world.tenant, id: .default)
            return try await stores.timers.advanceClients()
        },
    ]

    private static func begin(_ stores: Stores, _ world: ScaleWorld) async throws -> AssertionID? {
        let result = try await stores.assertions.beginAssertion(
            AssertionID(.version7()),
            named: "scale",
            by: .default,
            of: world.tenant
        )
        guard case .begun(let assertion) = result else { return nil }
        return assertion.id
    }
}

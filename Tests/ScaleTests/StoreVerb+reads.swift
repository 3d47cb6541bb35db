import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    private static func events(
        _ name: String,
        after: @escaping @Sendable (ScaleWorld) -> Int64,
        _ limit: Int
    ) -> StoreVerb {
        StoreVerb("events(\(name))") { store, world in
            try await store.events(of: world.session(1), after: after(world), limit: limit).count
        }
    }

    private static func generationEnd(_ generation: Int) -> @Sendable (ScaleWorld) -> Int64 {
        { Int64(generation * (2 * $0.generation + 1) - 1) }
    }

    static let reads: [StoreVerb] = [
        events("first", after: { _ in 0 }, page),
        events("in the middle", after: generationEnd(5), page),
        events("an end", after: generationEnd(9), 1),
        events("the last end", after: generationEnd(ScaleWorld.generations), 1),
        events("the end of what has expired", after: generationEnd(1), 1),
        StoreVerb("events(by identifier)") { store, world in
            try await store.events(
                tenant: world.tenant,
                sessionIdentifier: ScaleWorld.large,
                after: 0,
                limit: page
            )?.count ?? 0
        },
        StoreVerb("eventPositions") { store, world in
            try await store.eventPositions(
                of: (0..<page).map { world.session($0 % world.sessions) }
            )
            .count
        },
        StoreVerb("eventBounds") { store, world in
            _ = try await store.eventBounds(of: world.session(1))
            return 1
        },
        StoreVerb("session") { store, world in
            _ = try await store.session(tenant: world.tenant, identifier: ScaleWorld.large)
            return 1
        },
        StoreVerb("sessions") { store, world in
            try await store.sessions(tenant: world.tenant, after: nil, limit: page).count
        },
        StoreVerb("sessions(of a client)") { store, world in
            try await store.sessions(
                tenant: world.tenant,
                client: .default,
                after: (.default, "s5"),
                limit: page
            ).count
        },
        StoreVerb("tenant") { store, world in
            _ = try await store.tenant(world.tenant)
            return 1
        },
        StoreVerb("tenants") { store, world in
            try await store.tenants(among: [world.tenant]).count
        },
        StoreVerb("apiKey") { store, _ in
            _ = try await store.apiKey(id: "scale")
            return 1
        },
        StoreVerb("certificateAuthorities") { store, world in
            _ = try await store.certificateAuthorities(tenant: world.tenant)
            return 1
        },
        StoreVerb("client") { store, world in
            _ = try await store.client(tenant: world.tenant, id: .default)
            return 1
        },
        StoreVerb("clients") { store, world in
            try await store.clients(tenant: world.tenant, after: nil, limit: page).count
        },
        StoreVerb("credential") { store, world in
            _ = try await store.credential(tenant: world.tenant, name: "c7")
            return 1
        },
        StoreVerb("credentials") { store, world in
            try await store.credentials(tenant: world.tenant, after: nil, limit: page).count
        },
        StoreVerb("storedCredential") { store, _ in
            _ = try await store.storedCredential(CredentialID(UUID()))
            return 1
        },
        // By name, and that order has no index: the hosts of the tenant are sorted.
        StoreVerb("hosts", pages: 50_000) { store, world in
            try await store.hosts(tenant: world.tenant, limit: page).count
        },
        StoreVerb("host") { store, world in
            _ = try await store.host(Lane(key: 7), tenant: world.tenant)
            return 1
        },
        StoreVerb("lookUp") { store, world in
            _ = try await store.lookUp(
                idempotencyKey: Array("key 7".utf8),
                requestSHA256: [],
                tenant: world.tenant
            )
            return 1
        },
        StoreVerb("subscription") { store, world in
            _ = try await store.subscription(tenant: world.tenant, id: world.subscription(7))
            return 1
        },
        StoreVerb("subscriptions") { store, world in
            try await store.subscriptions(tenant: world.tenant, after: nil, limit: page).count
        },
        StoreVerb("endpoint") { store, world in
            _ = try await store.endpoint(tenant: world.tenant, subscription: world.subscription(7))
            return 1
        },
        StoreVerb("vitals") { store, _ in
            try await store.vitals(silentFor: .seconds(60)).workers
        },
        StoreVerb("idempotentTasks") { store, _ in
            try await store.idempotentTasks(among: [TaskID(UUID())]).count
        },
        StoreVerb("sessions(of:)") { store, _ in
            try await store.sessions(of: [TaskID(UUID())]).count
        },
        StoreVerb("holdings") { store, world in
            let holdings = try await store.holdings(incarnation: world.worker.incarnation)
            return holdings.attempts.count + holdings.publications.count
        },
        StoreVerb("waitingFlows") { store, _ in
            try await store.waitingFlows(in: Set(Shard.all).lanes).count
        },
    ]
}

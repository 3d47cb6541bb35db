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
        StoreVerb("events(\(name))") { stores, world in
            try await stores.events.events(of: world.session(1), after: after(world), limit: limit)
                .count
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
        StoreVerb("events(by identifier)") { stores, world in
            try await stores.events.events(
                tenant: world.tenant,
                sessionIdentifier: ScaleWorld.large,
                after: 0,
                limit: page
            )?.count ?? 0
        },
        StoreVerb("feed(first)") { stores, world in
            try await stores.events.feed(of: world.tenant, after: 0, limit: page).events.count
        },
        StoreVerb("feed(in the middle)") { stores, world in
            try await stores.events.feed(
                of: world.tenant,
                after: Int64(world.tasks),
                limit: page
            ).events.count
        },
        StoreVerb("oldestPosition") { stores, world in
            _ = try await stores.events.oldestPosition(ofFeed: world.tenant)
            return 1
        },
        StoreVerb("eventPositions") { stores, world in
            try await stores.events.eventPositions(
                of: (0..<page).map { world.session($0 % world.sessions) }
            )
            .count
        },
        StoreVerb("eventBounds") { stores, world in
            _ = try await stores.events.eventBounds(of: world.session(1))
            return 1
        },
        StoreVerb("session") { stores, world in
            _ = try await stores.sessions.session(
                tenant: world.tenant,
                identifier: ScaleWorld.large
            )
            return 1
        },
        StoreVerb("queueWait") { stores, world in
            try await stores.tasks.queueWait(of: world.large(1)) == nil ? 0 : 1
        },
        StoreVerb("sessionOrEnded") { stores, world in
            _ = try await stores.sessions.sessionOrEnded(
                tenant: world.tenant,
                identifier: "no such session"
            )
            return 1
        },
        StoreVerb("sessions") { stores, world in
            try await stores.sessions.sessions(tenant: world.tenant, after: nil, limit: page).count
        },
        StoreVerb("sessions(of a client)") { stores, world in
            try await stores.sessions.sessions(
                tenant: world.tenant,
                client: .default,
                after: SessionPlace(client: .default, identifier: "s5"),
                limit: page
            ).count
        },
        StoreVerb("egressVersions") { stores, _ in
            try await stores.tenants.egressVersions().count
        },
        StoreVerb("egressRules") { stores, world in
            try await stores.tenants.egressRules(of: [world.tenant]).count
        },
        // The sum of what runs in the fleet.
        StoreVerb("storage", pages: pagesOfFleet) { stores, world in
            _ = try await stores.tenants.storage(of: world.tenant)
            return 1
        },
        StoreVerb("tenant") { stores, world in
            _ = try await stores.tenants.tenant(world.tenant)
            return 1
        },
        StoreVerb("tenants") { stores, world in
            try await stores.verification.tenants(among: [world.tenant]).count
        },
        StoreVerb("apiKey") { stores, _ in
            _ = try await stores.keys.apiKey(id: "scale")
            return 1
        },
        StoreVerb("tenants(by name)") { stores, _ in
            try await stores.tenants.tenants(after: nil, limit: page).count
        },
        StoreVerb("tenant(by name)") { stores, _ in
            _ = try await stores.tenants.tenant(named: "scale")
            return 1
        },
        StoreVerb("apiKeys") { stores, world in
            try await stores.keys.apiKeys(tenant: world.tenant, after: nil, limit: page).count
        },
        StoreVerb("goodAPIKeys") { stores, _ in
            try await stores.keys.goodAPIKeys(among: ["scale"]).count
        },
        StoreVerb("certificateAuthorities") { stores, world in
            _ = try await stores.tenants.certificateAuthorities(tenant: world.tenant)
            return 1
        },
        StoreVerb("client") { stores, world in
            _ = try await stores.clients.client(tenant: world.tenant, id: .default)
            return 1
        },
        StoreVerb("clients") { stores, world in
            try await stores.clients.clients(tenant: world.tenant, after: nil, limit: page).count
        },
        StoreVerb("credential") { stores, world in
            _ = try await stores.credentials.credential(tenant: world.tenant, name: "c7")
            return 1
        },
        StoreVerb("credentials") { stores, world in
            try await stores.credentials.credentials(tenant: world.tenant, after: nil, limit: page)
                .count
        },
        StoreVerb("storedCredential") { stores, _ in
            _ = try await stores.credentials.storedCredential(CredentialID(UUID()))
            return 1
        },
        // The hosts of the tenant are sorted by name, an order for which there is no index.
        StoreVerb("hosts", pages: 50_000) { stores, world in
            try await stores.hosts.hosts(tenant: world.tenant, limit: page).count
        },
        StoreVerb("host") { stores, world in
            _ = try await stores.hosts.host(HostKey(rawValue: 7), tenant: world.tenant)
            return 1
        },
        StoreVerb("lookUp") { stores, world in
            _ = try await stores.idempotency.lookUp(
                idempotencyKey: Array("key 7".utf8),
                requestSHA256: [],
                tenant: world.tenant
            )
            return 1
        },
        StoreVerb("subscription") { stores, world in
            _ = try await stores.subscriptions.subscription(
                tenant: world.tenant,
                id: world.subscription(7)
            )
            return 1
        },
        StoreVerb("subscriptions") { stores, world in
            try await stores.subscriptions.subscriptions(
                tenant: world.tenant,
                after: nil,
                limit: page
            ).count
        },
        StoreVerb("endpoint") { stores, world in
            _ = try await stores.deliveryLog.endpoint(
                tenant: world.tenant,
                subscription: world.subscription(7)
            )
            return 1
        },
        StoreVerb("vitals") { stores, _ in
            try await stores.fleet.vitals(silentFor: .seconds(60)).workers
        },
        StoreVerb("idempotentTasks") { stores, _ in
            try await stores.control.idempotentTasks(among: [TaskID(UUID())]).count
        },
        StoreVerb("sessions(of:)") { stores, _ in
            try await stores.completions.sessions(of: [TaskID(UUID())]).count
        },
        StoreVerb("holdings") { stores, world in
            let holdings = try await stores.workers.holdings(incarnation: world.worker.incarnation)
            return holdings.attempts.count + holdings.pendingRenames.count
        },
        StoreVerb("waitingFlows") { stores, _ in
            try await stores.queue.waitingFlows(in: Set(Shard.all).hostKeys).count
        },
    ]
}

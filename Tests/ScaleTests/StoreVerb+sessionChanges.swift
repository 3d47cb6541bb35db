import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    static let sessionChanges: [StoreVerb] =
        [
            // What a tenant has is counted up to its quota.
            StoreVerb("putSession", pages: 60_000) { store, world in
                _ = try await store.putSession(
                    tenant: world.tenant,
                    identifier: "new",
                    configuration: SessionConfiguration()
                )
                return 1
            },
            StoreVerb("putSession(again)") { store, world in
                _ = try await store.putSession(
                    tenant: world.tenant,
                    identifier: ScaleWorld.large,
                    configuration: SessionConfiguration()
                )
                return 1
            },
            StoreVerb("changeSession") { store, world in
                let session = try await store.session(tenant: world.tenant, identifier: "s7")
                guard let session else { return 0 }
                _ = try await store.changeSession(session, to: SessionConfiguration())
                return 1
            },
            StoreVerb("invalidateSession", pages: 3000) { store, world in
                _ = try await store.invalidateSession(tenant: world.tenant, identifier: "s7")
                return 1
            },
            StoreVerb("finishSession") { store, world in
                _ = try await store.finishSession(tenant: world.tenant, identifier: "s7")
                return 1
            },
            StoreVerb("putClient") { store, world in
                _ = try await store.putClient(tenant: world.tenant, id: .default, kind: .app)
                return 1
            },
            StoreVerb("enterBackground") { store, world in
                _ = try await store.enterBackground(tenant: world.tenant, id: .default)
                return 1
            },
            StoreVerb("forceQuit", pages: 60_000) { store, world in
                try await quit(store, world)
            },
            StoreVerb("launch", pages: 60_000) { store, world in
                let count = try await quit(store, world)
                guard let client = ClientID("tablet") else { return 0 }
                _ = try await store.launch(tenant: world.tenant, id: client)
                return 2 * count
            },
            // Each of its sessions is looked at.
            StoreVerb("launch(a client of many sessions)", pages: 1_000_000) { store, world in
                _ = try await store.enterBackground(tenant: world.tenant, id: .default)
                _ = try await store.launch(tenant: world.tenant, id: .default)
                return 1
            },
            StoreVerb("createAPIKey") { store, _ in
                _ = try await store.createAPIKey(
                    id: "other",
                    tenantName: "scale",
                    secretSHA256: Array(repeating: 0, count: 32),
                    name: "other"
                )
                return 1
            },
            StoreVerb("limitTenant") { store, _ in
                _ = try await store.limitTenant(
                    named: "scale",
                    changes: TenantLimitChanges(outstandingTasksMax: 7)
                )
                return 1
            },
            StoreVerb("setCertificateAuthorities") { store, world in
                try await store.setCertificateAuthorities(nil, tenant: world.tenant)
                return 1
            },
            StoreVerb("putCredential", pages: 20_000) { store, world in
                _ = try await store.putCredential(
                    tenant: world.tenant,
                    name: "c7",
                    form: .bearer,
                    origins: [],
                    secret: [1]
                )
                // Those of `large` that have waited for it.
                return 1 + world.tasks / 20 / 1000 * 2
            },
            StoreVerb("deleteCredential") { store, world in
                _ = try await store.deleteCredential(tenant: world.tenant, name: "c7")
                return 1
            },
        ] + refreshes

    private static func quit(_ store: TransferStore, _ world: ScaleWorld) async throws -> Int {
        guard let client = ClientID("tablet") else { return 0 }
        _ = try await store.putClient(tenant: world.tenant, id: client, kind: .app)
        _ = try await store.putSession(
            tenant: world.tenant,
            client: client,
            identifier: "s",
            configuration: SessionConfiguration()
        )
        let tasks = (0..<page).map { _ in
            TaskSubmission(
                id: TaskID(.version7()),
                url: "https://origin.test/a",
                lane: Lane(key: 7)
            )
        }
        _ = try await store.submit(
            tasks,
            tenant: world.tenant,
            client: client,
            sessionIdentifier: "s"
        )
        _ = try await store.forceQuit(tenant: world.tenant, id: client)
        return 3 * tasks.count
    }

    private static func refresh(
        _ name: String,
        _ body: @escaping @Sendable (TransferStore, StoredCredential) async throws -> Void
    ) -> StoreVerb {
        StoreVerb(name) { store, world in
            guard let credential = try await store.credential(tenant: world.tenant, name: "c7"),
                let stored = try await store.storedCredential(credential.id)
            else { return 0 }
            try await body(store, stored)
            return 2
        }
    }

    private static let refreshes: [StoreVerb] = [
        refresh("beginRefresh") { _ = try await $0.beginRefresh($1) },
        refresh("finishRefresh") {
            _ = try await $0.finishRefresh($1, accessToken: [1], expiresIn: nil, secret: nil)
        },
        refresh("failRefresh") { try await $0.failRefresh($1, because: "refused") },
        refresh("expireAccessToken") {
            try await $0.expireAccessToken(
                of: ShownCredential(
                    id: $1.credential.id,
                    version: $1.version,
                    isRenewable: true
                )
            )
        },
    ]
}

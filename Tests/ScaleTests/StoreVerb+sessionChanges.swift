import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    static let sessionChanges: [StoreVerb] =
        [
            // The tenant's sessions are counted up to its quota.
            StoreVerb("putSession", pages: 60_000) { stores, world in
                _ = try await stores.sessions.putSession(
                    tenant: world.tenant,
                    identifier: "new",
                    configuration: SessionConfiguration()
                )
                return 1
            },
            StoreVerb("putSession(again)") { stores, world in
                _ = try await stores.sessions.putSession(
                    tenant: world.tenant,
                    identifier: ScaleWorld.large,
                    configuration: SessionConfiguration()
                )
                return 1
            },
            StoreVerb("changeSession") { stores, world in
                let session = try await stores.sessions.session(
                    tenant: world.tenant,
                    identifier: "s7"
                )
                guard let session else { return 0 }
                _ = try await stores.sessions.changeSession(session, to: SessionConfiguration())
                return 1
            },
            StoreVerb("invalidateSession", pages: 3000) { stores, world in
                _ = try await stores.sessions.invalidateSession(
                    tenant: world.tenant,
                    identifier: "s7"
                )
                return 1
            },
            StoreVerb("finishSession") { stores, world in
                _ = try await stores.sessions.finishSession(tenant: world.tenant, identifier: "s7")
                return 1
            },
            StoreVerb("putClient") { stores, world in
                _ = try await stores.clients.putClient(
                    tenant: world.tenant,
                    id: .default,
                    kind: .app
                )
                return 1
            },
            StoreVerb("enterBackground") { stores, world in
                _ = try await stores.clients.enterBackground(tenant: world.tenant, id: .default)
                return 1
            },
            // Beside many sessions of the client that have ended.
            StoreVerb("forceQuit", pages: 60_000) { stores, world in
                try await quit(stores, world)
            },
            StoreVerb("beginClientRemoval", pages: 60_000) { stores, world in
                let count = try await quit(stores, world)
                guard let client = ClientID("tablet") else { return 0 }
                _ = try await stores.clients.beginClientRemoval(tenant: world.tenant, id: client)
                return count
            },
            StoreVerb("launch", pages: 60_000) { stores, world in
                let count = try await quit(stores, world)
                guard let client = ClientID("tablet") else { return 0 }
                _ = try await stores.clients.launch(tenant: world.tenant, id: client)
                return 2 * count
            },
            StoreVerb("resumeDeliveries", pages: 120_000) { stores, world in
                let count = try await quit(stores, world)
                guard let client = ClientID("tablet") else { return 0 }
                _ = try await stores.clients.launch(tenant: world.tenant, id: client)
                _ = try await stores.resumptions.resumeDeliveries()
                return 2 * count
            },
            // Each of the client's living sessions is examined.
            StoreVerb("launch(a client of many sessions)", pages: 1_000_000) { stores, world in
                _ = try await stores.clients.enterBackground(tenant: world.tenant, id: .default)
                _ = try await stores.clients.launch(tenant: world.tenant, id: .default)
                return 1
            },
            StoreVerb("createTenant") { stores, _ in
                let name = "\(UUID())"
                return try await stores.tenants.createTenant(named: name, isForTests: true) ? 1 : 0
            },
            StoreVerb("createAPIKey") { stores, _ in
                _ = try await stores.keys.createAPIKey(
                    NewAPIKey(
                        id: "other",
                        secretSHA256: Array(repeating: 0, count: 32),
                        name: "other"
                    ),
                    tenantName: "scale"
                )
                return 1
            },
            StoreVerb("createAPIKey(in a tenant)") { stores, world in
                _ = try await stores.keys.createAPIKey(
                    NewAPIKey(
                        id: "third",
                        secretSHA256: Array(repeating: 0, count: 32),
                        name: "third"
                    ),
                    tenant: world.tenant
                )
                return 1
            },
            StoreVerb("recordUse") { stores, _ in
                try await stores.keys.recordUse(ofAPIKey: "scale")
                return 1
            },
            StoreVerb("revokeAPIKey") { stores, _ in
                _ = try await stores.keys.revokeAPIKey(id: "other")
                return 1
            },
            StoreVerb("revokeAPIKey(in a tenant)") { stores, world in
                _ = try await stores.keys.revokeAPIKey(id: "other", tenant: world.tenant)
                return 1
            },
            StoreVerb("pause") { stores, world in
                _ = try await PauseStore(stores.database).pause(pause(world))
                return 1
            },
            StoreVerb("endPause") { stores, world in
                _ = try await PauseStore(stores.database).endPause(
                    pause(world).scope,
                    isByTenant: false
                )
                return 1
            },
            StoreVerb("pauses") { stores, world in
                try await PauseStore(stores.database).pauses(of: world.tenant).count
            },
            StoreVerb("setEgressRules") { stores, _ in
                var rules = EgressRules()
                rules.ports = [443]
                _ = try await stores.tenants.setEgressRules(rules, ofTenantNamed: "scale")
                return 1
            },
            StoreVerb("limitTenant") { stores, _ in
                _ = try await stores.tenants.limitTenant(
                    named: "scale",
                    changes: TenantLimitChanges(outstandingTasksMax: 7)
                )
                return 1
            },
            StoreVerb("setCertificateAuthorities") { stores, world in
                try await stores.tenants.setCertificateAuthorities(nil, tenant: world.tenant)
                return 1
            },
            StoreVerb("putCredential") { stores, world in
                _ = try await stores.credentials.putCredential(
                    tenant: world.tenant,
                    name: "c7",
                    form: .bearer,
                    origins: [],
                    secrets: Credential.Secrets(main: Secret("a"))
                )
                // The tasks of `large` that have waited for it.
                return min(world.tasks / 100 * 2, AnswerStore.continuedMax)
            },
            StoreVerb("deleteCredential") { stores, world in
                _ = try await stores.credentials.deleteCredential(tenant: world.tenant, name: "c7")
                return 1
            },
        ] + refreshes

    /// A pause of a host that no task of the world uses.
    private static func pause(_ world: ScaleWorld) -> Pause {
        Pause(
            scope: Pause.Scope(tenant: world.tenant, host: HostKey(rawValue: 3)),
            hostName: "h3.test:443",
            isByTenant: false,
            givesBack: false,
            pausedAt: .distantPast
        )
    }

    private static func quit(_ stores: Stores, _ world: ScaleWorld) async throws -> Int {
        guard let client = ClientID("tablet") else { return 0 }
        _ = try await stores.clients.putClient(tenant: world.tenant, id: client, kind: .app)
        _ = try await stores.sessions.putSession(
            tenant: world.tenant,
            client: client,
            identifier: "s",
            configuration: SessionConfiguration()
        )
        let tasks = (0..<page).map { _ in
            TaskSubmission(
                id: TaskID(.version7()),
                url: "https://origin.test/a",
                hostKey: HostKey(rawValue: 7)
            )
        }
        _ = try await stores.submissions.submit(
            tasks,
            tenant: world.tenant,
            client: client,
            sessionIdentifier: "s"
        )
        _ = try await stores.clients.forceQuit(tenant: world.tenant, id: client)
        return 3 * tasks.count
    }

    private static func refresh(
        _ name: String,
        _ body: @escaping @Sendable (Stores, StoredCredential) async throws -> Void
    ) -> StoreVerb {
        StoreVerb(name) { stores, world in
            guard
                let credential = try await stores.credentials.credential(
                    tenant: world.tenant,
                    name: "c7"
                ),
                let stored = try await stores.credentials.storedCredential(credential.id)
            else { return 0 }
            try await body(stores, stored)
            return 2
        }
    }

    private static let refreshes: [StoreVerb] = [
        refresh("beginRefresh") { _ = try await $0.credentials.beginRefresh($1) },
        refresh("finishRefresh") {
            _ = try await $0.credentials.finishRefresh(
                $1,
                accessToken: Secret("a"),
                expiresIn: nil,
                secrets: nil
            )
        },
        refresh("failRefresh") {
            guard let turn = try await $0.credentials.beginRefresh($1) else { return }
            try await $0.credentials.failRefresh(turn, because: "refused")
        },
        refresh("expireAccessToken") {
            try await $0.credentials.expireAccessToken(
                of: ShownCredential(
                    id: $1.credential.id,
                    version: $1.version,
                    isRenewable: true
                )
            )
        },
    ]
}

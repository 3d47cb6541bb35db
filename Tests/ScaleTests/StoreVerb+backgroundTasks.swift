import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    private static let identifier = BackgroundTaskIdentifier(stored: "scale")

    /// The verbs of background tasks, beside a million pending requests and as many ended runs.
    static let backgroundTasks: [StoreVerb] =
        [
            StoreVerb("backgroundSettings") { stores, world in
                _ = try await stores.tenants.backgroundSettings(of: world.tenant)
                return 1
            },
            StoreVerb("changeBackgroundSettings") { stores, world in
                var change = BackgroundSettingsChange()
                change.permittedIdentifiers = PermittedIdentifiers(stored: ["*"])
                _ = try await stores.tenants.changeBackgroundSettings(of: world.tenant, change)
                return 1
            },
            StoreVerb("registerHandler") { stores, world in try await register(stores, world) },
            StoreVerb("handler") { stores, world in
                _ = try await stores.handlers.handler(
                    identifier,
                    of: .default,
                    tenant: world.tenant
                )
                return 1
            },
            StoreVerb("handlers") { stores, world in
                try await stores.handlers.handlers(of: .default, tenant: world.tenant).count
            },
            StoreVerb("draft") { stores, world in
                _ = try await stores.requests.draft(
                    BackgroundTaskRequest(identifier: identifier),
                    BackgroundTaskRequestID(.version7()),
                    occurrence: nil,
                    of: .default,
                    tenant: world.tenant
                )
                return 1
            },
            StoreVerb("submitRequest") { stores, world in
                _ = try await submit(stores, world)
                return 1
            },
            StoreVerb("pendingRequest") { stores, world in
                _ = try await stores.requests.pendingRequest(
                    identifier,
                    of: .default,
                    tenant: world.tenant
                )
                return 1
            },
            StoreVerb("pendingRequests") { stores, world in
                try await stores.requests.pendingRequests(of: .default, tenant: world.tenant).count
            },
            StoreVerb("cancelRequests") { stores, world in
                _ = try await submit(stores, world)
                _ = try await stores.requests.cancelRequests(of: .default, tenant: world.tenant)
                return 1
            },
            StoreVerb("immediateRequest") { stores, world in
                _ = try await stores.timers.immediateRequest(
                    BackgroundTaskRequest(identifier: identifier),
                    BackgroundTaskRequestID(.version7()),
                    of: .default,
                    tenant: world.tenant
                )
                return 1
            },
            StoreVerb("putOff") { stores, world in
                guard let id = try await submit(stores, world) else { return 0 }
                try await stores.timers.putOff([id])
                return 1
            },
            StoreVerb("dueRequests") { stores, world in
                _ = try await submit(stores, world)
                return try await stores.timers.dueRequests().count
            },
            StoreVerb("releaseForNetwork") { stores, _ in
                try await stores.timers.releaseForNetwork()
            },
            StoreVerb("removeHandler") { stores, world in
                let count = try await register(stores, world)
                _ = try await stores.handlers.removeHandler(
                    identifier,
                    of: .default,
                    tenant: world.tenant
                )
                return count
            },
        ] + runs

    private static let runs: [StoreVerb] = [
        StoreVerb("decide") { stores, world in
            _ = try await launch(stores, world)
            return 1
        },
        StoreVerb("run") { stores, world in
            guard let id = try await launch(stores, world) else { return 0 }
            _ = try await stores.runs.run(id, of: world.tenant)
            return 1
        },
        StoreVerb("runs") { stores, world in
            try await stores.runs.runs(
                of: .default,
                tenant: world.tenant,
                before: nil,
                limit: page
            ).count
        },
        StoreVerb("runs(of an identifier)") { stores, world in
            try await stores.runs.runs(
                of: .default,
                tenant: world.tenant,
                identifier: identifier,
                before: nil,
                limit: page
            ).count
        },
        change("acceptRun") { try await $0.runs.acceptRun($2, of: $1.tenant) },
        change("extendRun") {
            try await $0.runs.extendRun($2, forAtLeast: .seconds(5), of: $1.tenant)
        },
        change("reportProgress") { stores, world, id in
            try await stores.runs.reportProgress(
                BackgroundTaskRun.Progress(completedUnitCount: 1, totalUnitCount: 2),
                title: nil,
                subtitle: nil,
                of: id,
                tenant: world.tenant
            )
        },
        change("linkTransfers", pages: 3000) { stores, world, id in
            try await stores.runs.linkTransfers(
                (0..<page).map(world.kept),
                to: id,
                of: world.tenant
            )
        },
        change("completeRun") { stores, world, id in
            try await stores.runs.completeRun(id, isSuccessful: true, of: world.tenant)
        },
        // Beside an open run of many transfers, of which one is looked at.
        StoreVerb("advanceRuns", pages: 1000) { stores, world in
            _ = try await launch(stores, world)
            return try await stores.timers.advanceRuns()
        },
        StoreVerb("cancelTransfers") { stores, _ in
            var count = 0
            _ = try await stores.timers.cancelTransfers { _ in count += 1 }
            return count
        },
        StoreVerb("pruneRuns") { stores, _ in try await stores.runs.pruneRuns(endedBefore: .zero) },
    ]

    private static func change(
        _ name: String,
        pages: Int64 = 400,
        _ change:
            @escaping @Sendable (Stores, ScaleWorld, BackgroundTaskRunID) async throws ->
            RunChangeResult
    ) -> StoreVerb {
        StoreVerb(name, pages: pages) { stores, world in
            guard let id = try await launch(stores, world) else { return 0 }
            _ = try await change(stores, world, id)
            return 1
        }
    }

    private static func register(_ stores: Stores, _ world: ScaleWorld) async throws -> Int {
        var change = BackgroundSettingsChange()
        change.permittedIdentifiers = PermittedIdentifiers(stored: ["*"])
        _ = try await stores.tenants.changeBackgroundSettings(of: world.tenant, change)
        _ = try await stores.handlers.registerHandler(
            identifier,
            kind: .processing,
            hasExpirationHandler: true,
            of: .default,
            tenant: world.tenant
        )
        return 2
    }

    private static func submit(
        _ stores: Stores,
        _ world: ScaleWorld
    ) async throws -> BackgroundTaskRequestID? {
        _ = try await register(stores, world)
        let result = try await stores.requests.submitRequest(
            BackgroundTaskRequest(identifier: identifier),
            BackgroundTaskRequestID(.version7()),
            occurrence: nil,
            of: .default,
            tenant: world.tenant
        )
        guard case .submitted(let pending) = result else { return nil }
        return pending.id
    }

    /// Launches a request after the end of all open runs.
    private static func launch(
        _ stores: Stores,
        _ world: ScaleWorld
    ) async throws -> BackgroundTaskRunID? {
        let open = try await stores.runs.runs(
            of: .default,
            tenant: world.tenant,
            before: nil,
            limit: 1
        )
        for run in open where !run.state.isTerminal {
            _ = try await stores.runs.completeRun(run.id, isSuccessful: true, of: world.tenant)
        }
        guard let id = try await submit(stores, world) else { return nil }
        let due = try await stores.timers.dueRequests().filter { $0.id == id }
        _ = try await stores.timers.decide(
            due.map { ($0, LaunchDecision($0)) }
        )
        return try await stores.runs.runs(
            of: .default,
            tenant: world.tenant,
            before: nil,
            limit: 1
        ).first?.id
    }
}

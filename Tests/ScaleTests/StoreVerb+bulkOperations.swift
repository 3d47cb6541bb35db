import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    /// These are measured last: what they have written and undone lies in the way of the others.
    static let bulkOperations: [StoreVerb] = [
        StoreVerb("beginBulkOperation", pages: 1000) { stores, world in
            _ = try await world.begin(.cancel, stores)
            return 1
        },
        StoreVerb("bulkOperation") { stores, world in
            let operation = try await world.begin(.suspend, stores)
            _ = try await stores.bulkOperations.bulkOperation(
                tenant: world.tenant,
                id: operation.id
            )
            return 1
        },
        StoreVerb("bulkOperations") { stores, world in
            let operation = try await world.begin(.suspend, stores)
            return try await stores.bulkOperations.bulkOperations(
                of: operation.session,
                after: nil,
                limit: page
            ).count
        },
        StoreVerb("runningBulkOperations") { stores, world in
            _ = try await world.begin(.suspend, stores)
            return try await stores.bulkOperations.runningBulkOperations(of: world.tenant).count
        },
        StoreVerb("advanceBulkOperations") { stores, world in
            _ = try await world.begin(.suspend, stores)
            return try await stores.bulkOperations.advanceBulkOperations { _ in true }
        },
        StoreVerb("stagedUploads", pages: 20_000) { stores, world in
            let operation = try await world.begin(.retry, stores)
            return try await stores.bulkOperations.stagedUploads(of: operation).count
        },
        // Each task of a page is looked for in every place, and if it is in none at all other
        // ranks.
        StoreVerb("advanceBulkOperation", pages: 130_000) { stores, world in
            for verb in BulkOperation.Verb.allCases {
                let operation = try await world.begin(verb, stores)
                try await stores.bulkOperations.advanceBulkOperation(operation, bodies: [])
                let reached = try await stores.bulkOperations.bulkOperation(
                    tenant: world.tenant,
                    id: operation.id
                )
                guard let reached, reached.changed > 0 else { throw CancellationError() }
                _ = try await stores.bulkOperations.stopBulkOperation(
                    tenant: world.tenant,
                    id: operation.id
                )
            }
            return 2 * BulkOperationStore.pageMax
        },
        StoreVerb("stopBulkOperation") { stores, world in
            let operation = try await world.begin(.suspend, stores)
            _ = try await stores.bulkOperations.stopBulkOperation(
                tenant: world.tenant,
                id: operation.id
            )
            return 1
        },
        StoreVerb("pruneBulkOperations", pages: 1000) { stores, _ in
            try await stores.bulkOperations.pruneBulkOperations(olderThan: .zero)
        },
    ]
}

extension ScaleWorld {
    /// Begins a bulk operation in the large session, or a retry in that of the kept results, after
    /// ending those that run.
    fileprivate func begin(
        _ verb: BulkOperation.Verb,
        _ stores: Stores
    ) async throws -> RunningBulkOperation {
        for running in try await stores.bulkOperations.runningBulkOperations(of: tenant) {
            _ = try await stores.bulkOperations.stopBulkOperation(tenant: tenant, id: running.id)
        }
        let found = try await stores.sessions.session(
            tenant: tenant,
            identifier: verb == .retry ? ScaleWorld.kept : ScaleWorld.large
        )
        guard let session = found else { throw CancellationError() }
        let operation = try await stores.bulkOperations.beginBulkOperation(
            verb,
            on: verb.statesDefault,
            of: session,
            tenant: tenant
        )
        return RunningBulkOperation(operation, of: session, tenant: tenant)
    }
}

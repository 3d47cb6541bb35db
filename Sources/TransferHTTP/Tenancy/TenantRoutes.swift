import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/tenant`: the limits of the key's tenant, the state of its tasks, and its
/// pauses; and the hooks that it has if it is for tests.
struct TenantRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.get("/v1/tenant", scope: .read) { _, context in
            try await get(tenant: context.requireTenant())
        }
        PauseRoutes(stores: stores, tell: tell).add(to: router)
        AuditRoutes(stores: stores).add(to: router)
        TestHookRoutes(stores: stores).add(to: router)
    }

    func get(tenant: TenantID) async throws -> Answer {
        try await .json(
            TenantDocument(
                stores.tenants.tenant(tenant),
                storage: stores.tenants.storage(of: tenant),
                pauses: stores.pauses.pauses(of: tenant)
            )
        )
    }
}

extension TenantDocument {
    fileprivate init(_ tenant: Tenant, storage: TenantStorage, pauses: [Pause]) {
        self.init(
            name: tenant.name,
            outstandingTasksMax: tenant.outstandingTasksMax,
            runningTasksMax: tenant.runningTasksMax,
            requestsPerSecondMax: tenant.requestsPerSecondMax,
            totalBytesPerSecondMax: tenant.totalBytesPerSecondMax,
            storedBytesMax: tenant.storedBytesMax,
            inFlightBytesMax: tenant.inFlightBytesMax,
            isForTests: tenant.isForTests,
            storedBytes: storage.storedBytes,
            inFlightBytes: storage.inFlightBytes,
            outstanding: tenant.taskCounts.outstanding,
            taskCounts: tenant.taskCounts.byState,
            bytesReceived: tenant.taskCounts.bytesReceived,
            bytesSent: tenant.taskCounts.bytesSent,
            pauses: pauses.map { PauseDocument($0) },
            createdAt: Timestamp(tenant.createdAt)
        )
    }
}

extension TaskCounts {
    /// The counts of all states, including those without tasks.
    var byState: [String: Int64] {
        Dictionary(uniqueKeysWithValues: TransferState.allCases.map { ($0.rawValue, self[$0]) })
    }
}

import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// `/v1/tenant`: what the tenant of a key is allowed, and how its tasks stand.
struct TenantRoutes: Sendable {
    let stores: APIStores

    func add(to router: Router<APIContext>) {
        router.get("/v1/tenant") { _, context in
            try await get(tenant: context.requireTenant())
        }
    }

    func get(tenant: TenantID) async throws -> Answer {
        try await .json(TenantDocument(stores.tenants.tenant(tenant)))
    }
}

extension TenantDocument {
    fileprivate init(_ tenant: Tenant) {
        self.init(
            name: tenant.name,
            outstandingTasksMax: tenant.outstandingTasksMax,
            runningTasksMax: tenant.runningTasksMax,
            totalBytesPerSecondMax: tenant.totalBytesPerSecondMax,
            outstanding: tenant.taskCounts.outstanding,
            taskCounts: tenant.taskCounts.byState,
            bytesReceived: tenant.taskCounts.bytesReceived,
            bytesSent: tenant.taskCounts.bytesSent,
            createdAt: Timestamp(tenant.createdAt)
        )
    }
}

extension TaskCounts {
    /// Of every state, also of those in which there is no task.
    var byState: [String: Int64] {
        Dictionary(uniqueKeysWithValues: TransferState.allCases.map { ($0.rawValue, self[$0]) })
    }
}

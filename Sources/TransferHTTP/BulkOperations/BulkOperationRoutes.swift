import Hummingbird
import NIOPosix
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/sessions/{identifier}/bulk-operations` and `/v1/bulk-operations/{id}`.
struct BulkOperationRoutes: Sendable {
    let stores: APIStores
    let container: Container
    let tell: @Sendable (Set<Signal>) -> Void
    /// The threads that wait for the disk.
    let threads: NIOThreadPool

    func add(to router: APIRouter) {
        router.post(
            "/v1/sessions/{identifier}/bulk-operations",
            scope: .control,
            hasQuery: true
        ) { request, context in
            let address = try context.session(request)
            return try await begin(request.jsonBody(), of: address)
        }
        router.get(
            "/v1/sessions/{identifier}/bulk-operations",
            scope: .read,
            hasQuery: true
        ) { request, context in
            let query = try QueryParameters(
                request,
                allowed: [QueryParameters.client, "limit", "cursor"]
            )
            let address = try context.session(query)
            return try await RequestResources.listing { try await list(query, of: address) }
        }
        router.get("/v1/bulk-operations/{id}", scope: .read) { _, context in
            try await get(context.bulkOperationID(), tenant: context.requireTenant())
        }
        router.delete("/v1/bulk-operations/{id}", scope: .control) { _, context in
            try await stop(context.bulkOperationID(), tenant: context.requireTenant())
        }
    }

    func begin(_ body: [UInt8], of address: SessionAddress) async throws -> Answer {
        let (verb, states) = try await decoded(BulkOperationRequest.self, from: body).operation()
        let session = try await stores.sessions.session(
            tenant: address.tenant,
            client: address.client,
            identifier: address.identifier
        )
        guard let session else { throw try await stores.clients.noSession(at: address) }
        let operation = try await stores.bulkOperations.beginBulkOperation(
            verb,
            on: states,
            of: session,
            tenant: address.tenant
        )
        await advance(RunningBulkOperation(operation, of: session, tenant: address.tenant))
        tell(.ofTasks)
        let reached = try await stores.bulkOperations.bulkOperation(
            tenant: address.tenant,
            id: operation.id
        )
        return try .json(
            BulkOperationDocument(reached ?? operation),
            status: .accepted,
            location: APIPath.bulkOperation(operation.id)
        )
    }

    /// Carries out the first page, which for most sessions is all of it.
    ///
    /// This never fails: the operation is stored, and a worker carries out the rest.
    private func advance(_ operation: RunningBulkOperation) async {
        do {
            let uploads = try await stores.bulkOperations.stagedUploads(of: operation)
            let places = uploads.map { StagedBody.place(of: $0, tenant: operation.tenant) }
            let sizes =
                places.isEmpty
                ? []
                : try await threads.runIfActive { [container] in
                    try places.map { try container.size(of: $0) }
                }
            try await stores.bulkOperations.advanceBulkOperation(
                operation,
                bodies: zip(uploads, sizes).filter { $0.1 != nil }.map(\.0)
            )
        } catch {
            return
        }
    }

    func list(_ query: QueryParameters, of address: SessionAddress) async throws -> Answer {
        let limit = try query.limit()
        var after: BulkOperationID?
        if let cursor = try query.cursor() {
            guard case .bulkOperation(let id) = cursor else {
                throw QueryParameters.foreignCursor
            }
            after = id
        }
        let session = try await stores.sessions.sessionOrEnded(
            tenant: address.tenant,
            client: address.client,
            identifier: address.identifier
        )
        guard let session else { throw try await stores.clients.noSession(at: address) }
        let operations = try await stores.bulkOperations.bulkOperations(
            of: session.id,
            after: after,
            limit: limit + 1
        )
        return try await .page(
            operations,
            limit: limit,
            document: { BulkOperationDocument($0) },
            cursor: { .bulkOperation($0.id) }
        )
    }

    func get(_ id: BulkOperationID, tenant: TenantID) async throws -> Answer {
        try Self.answer(try await stores.bulkOperations.bulkOperation(tenant: tenant, id: id))
    }

    func stop(_ id: BulkOperationID, tenant: TenantID) async throws -> Answer {
        try Self.answer(try await stores.bulkOperations.stopBulkOperation(tenant: tenant, id: id))
    }

    private static func answer(_ operation: BulkOperation?) throws -> Answer {
        guard let operation else { throw Problem(.unknownBulkOperation) }
        return try .json(BulkOperationDocument(operation))
    }
}

extension BulkOperationDocument {
    fileprivate init(_ operation: BulkOperation) {
        self.init(
            id: operation.id.description,
            client: operation.client.name,
            session: operation.sessionIdentifier,
            verb: operation.verb.rawValue,
            states: operation.states.map(\.rawValue),
            state: operation.state.rawValue,
            reason: operation.reason?.rawValue,
            tasksMatching: operation.matching,
            tasksChanged: operation.changed,
            createdAt: Timestamp(operation.createdAt),
            finishedAt: operation.finishedAt.map(Timestamp.init)
        )
    }
}

import Foundation
import Hummingbird
import TransferModel
package import TransferStore
package import TransferWire

/// The route of `/v1/audit`: the audit log, as far as it is about the caller's own tenant.
struct AuditRoutes: Sendable {
    let stores: APIStores

    func add(to router: APIRouter) {
        router.get("/v1/audit", scope: .admin, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var before: AuditRecord.Position?
        if let cursor = try query.cursor() {
            guard case .audit(let position) = cursor else { throw QueryParameters.foreignCursor }
            before = position
        }
        let page = try await stores.audit.entries(of: tenant, before: before, limit: limit)
        return try await .page(
            page.records,
            next: page.next.map { .audit($0) },
            document: { AuditEntryDocument($0) },
            cursor: { .audit($0.position) }
        )
    }
}

extension AuditEntryDocument {
    /// The document of an entry, with its tenant if `tenant` says so.
    package init(_ record: AuditRecord, withTenant: Bool = false) {
        let entry = record.entry
        self.init(
            recordedAt: Timestamp(record.recordedAt),
            actor: entry.actor,
            tenant: withTenant ? entry.tenant.map { "\($0)" } : nil,
            peer: entry.peer,
            action: entry.action,
            object: entry.object,
            status: entry.status,
            code: entry.code,
            requestID: entry.requestID?.uuidString.lowercased()
        )
    }
}

package import Foundation
package import TransferModel

/// A bulk operation that has not ended, for whoever carries it out.
package struct RunningBulkOperation: Sendable {
    package let id: BulkOperationID
    package let tenant: TenantID
    package let session: SessionID
    package let verb: BulkOperation.Verb
    package let states: [TransferState]
    /// The last task that was looked at.
    package let position: UUID

    /// Creates an operation that has just been requested.
    package init(_ operation: BulkOperation, of session: Session, tenant: TenantID) {
        self.init(
            id: operation.id,
            tenant: tenant,
            session: session.id,
            verb: operation.verb,
            states: operation.states,
            position: .zero
        )
    }

    init(
        id: BulkOperationID,
        tenant: TenantID,
        session: SessionID,
        verb: BulkOperation.Verb,
        states: [TransferState],
        position: UUID
    ) {
        self.id = id
        self.tenant = tenant
        self.session = session
        self.verb = verb
        self.states = states
        self.position = position
    }
}

extension RunningBulkOperation: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            id: BulkOperationID(try row.decode("id", as: UUID.self)),
            tenant: try row.tenant("tenant_id"),
            session: try row.session("session_id"),
            verb: try row.word("verb"),
            states: try row.states("states"),
            position: try row.decode("looked_through")
        )
    }
}

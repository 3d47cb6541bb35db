package import Foundation
import Postgres
package import TransferModel

/// Bulk operations: what their clients asked for, and how far they are.
package struct BulkOperationStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension BulkOperationStore {
    /// The time for which an operation can be read after its end.
    package static let retention: Duration = .seconds(24 * 3600)
    /// The maximum number of operations that one call removes.
    package static let pruneMax = 1000

    /// Stores an operation for a session, for whoever carries it out.
    ///
    /// - Throws: ``StoreError/quotaExceeded(_:)`` if the tenant may have no more operations.
    package func beginBulkOperation(
        _ verb: BulkOperation.Verb,
        on states: [TransferState],
        of session: Session,
        tenant: TenantID
    ) async throws(StoreError) -> BulkOperation {
        let id = UUID.version7()
        let words = states.map(\.rawValue)
        let room = Database.hasRoom(
            in: "SELECT 1 FROM bulk_operation x WHERE x.tenant_id = \(tenant.uuid)",
            maximum: Quota.bulkOperationsMax
        )
        let rows = try await database.run([
            """
            INSERT INTO bulk_operation (id, tenant_id, session_id, verb, states, matching)
            SELECT \(id), s.tenant_id, s.id, \(verb.rawValue), \(words), coalesce((
                SELECT sum(c.tasks) FROM (\(CountStore.selectCountsOfSession)) c
                WHERE c.state::text = ANY (\(words))), 0)
            -- By its key alone: a plan might look for it among all sessions of the tenant.
            FROM (
                SELECT x.id, x.tenant_id FROM session x WHERE x.id = \(session.id.uuid) LIMIT 1
            ) s
            WHERE s.tenant_id = \(tenant.uuid) AND \(room)
            """,
            "\(Self.select) WHERE o.id = \(id)",
        ])
        guard let row = rows[1].first else {
            throw .quotaExceeded(Quota(.bulkOperations, maximum: Quota.bulkOperationsMax))
        }
        return try BulkOperation(row)
    }

    /// Returns the tenant's operation `id`; nil when there is none, or none any more.
    package func bulkOperation(
        tenant: TenantID,
        id: BulkOperationID
    ) async throws(StoreError) -> BulkOperation? {
        try await database.fetchFirst(
            BulkOperation.self,
            "\(Self.select) WHERE o.id = \(id.uuid) AND o.tenant_id = \(tenant.uuid)"
        )
    }

    /// Returns a page of a session's operations in order of their requests.
    package func bulkOperations(
        of session: SessionID,
        after: BulkOperationID?,
        limit: Int
    ) async throws(StoreError) -> [BulkOperation] {
        try await database.fetch(
            BulkOperation.self,
            """
            \(Self.select)
            WHERE (o.session_id, o.id) > (\(session.uuid), \(after?.uuid ?? UUID.zero))
                AND o.session_id <= \(session.uuid)
            ORDER BY o.session_id, o.id LIMIT \(limit)
            """
        )
    }

    /// Stops an operation after the page that is being carried out; one that has ended stays as it
    /// is.
    ///
    /// - Returns: the operation as it then is; nil when the tenant has none of that identifier.
    package func stopBulkOperation(
        tenant: TenantID,
        id: BulkOperationID
    ) async throws(StoreError) -> BulkOperation? {
        _ = try await database.run(
            """
            UPDATE bulk_operation SET state = \(BulkOperation.State.stopped.rawValue),
                reason = \(BulkOperation.Reason.requested.rawValue),
                finished_at = clock_timestamp()
            WHERE id = \(id.uuid) AND tenant_id = \(tenant.uuid) AND finished_at IS NULL
            """
        )
        return try await bulkOperation(tenant: tenant, id: id)
    }

    /// Removes operations that ended longer ago than `age`; none ended longer ago than at `latest`,
    /// however far ahead the database's clock is.
    ///
    /// - Returns: the number of those that were removed, at most ``pruneMax``.
    package func pruneBulkOperations(
        olderThan age: Duration = retention,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int {
        try await database.run(
            """
            DELETE FROM bulk_operation WHERE id = ANY (ARRAY(
                SELECT id FROM bulk_operation
                WHERE finished_at
                    < least(now(), \(latest)) - \(age.milliseconds) * interval '1 ms'
                ORDER BY finished_at LIMIT \(Self.pruneMax)))
            RETURNING id
            """
        ).count
    }

    private static let select: Query = """
        SELECT o.id, s.client, s.identifier, o.verb, o.states, o.state, o.reason, o.matching,
            o.changed, o.created_at, o.finished_at
        FROM bulk_operation o JOIN session s ON s.id = ANY (ARRAY[o.session_id])
        """
}

extension BulkOperation: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            id: BulkOperationID(try row.decode("id", as: UUID.self)),
            client: try row.client("client"),
            sessionIdentifier: try row.decode("identifier"),
            verb: try row.word("verb"),
            states: try row.states("states"),
            state: try row.word("state"),
            reason: try row.decodeIfPresent("reason", as: String.self)
                .flatMap(Reason.init(rawValue:)),
            matching: try row.decode("matching"),
            changed: try row.decode("changed"),
            createdAt: try row.decode("created_at"),
            finishedAt: try row.decodeIfPresent("finished_at")
        )
    }
}

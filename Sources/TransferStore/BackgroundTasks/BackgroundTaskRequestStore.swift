import Foundation
import Postgres
package import TransferModel

/// The pending requests of clients to be launched.
package struct BackgroundTaskRequestStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension BackgroundTaskRequestStore {
    /// Returns the pending requests of a client by identifier, in byte order.
    package func pendingRequests(
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> [PendingRequest] {
        try await database.fetch(
            PendingRequest.self,
            """
            \(Self.select(where: ClientStore.isNamed(client, tenant))) AND q.due_at IS NOT NULL
            ORDER BY q.identifier
            """
        )
    }

    /// Returns the pending request of an identifier.
    package func pendingRequest(
        _ identifier: BackgroundTaskIdentifier,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> PendingRequest? {
        let rows = try await database.run(
            Self.select(
                where: """
                    \(ClientStore.isNamed(client, tenant)) AND q.due_at IS NOT NULL
                    AND q.identifier = \(identifier.name)
                    """
            )
        )
        guard let row = rows.first else { return nil }
        return try PendingRequest(row)
    }

    /// Cancels the request of an identifier, or all requests of a client; runs continue, and those
    /// that nobody accepts are not repeated.
    ///
    /// - Returns: the number of requests that were cancelled, pending or launched; nil when the
    ///   tenant has no such client.
    package func cancelRequests(
        _ identifier: BackgroundTaskIdentifier? = nil,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> Int? {
        let isNamed: Query = identifier.map { "q.identifier = \($0.name)" } ?? "true"
        let rows = try await database.run([
            ClientStore.lock(client, of: tenant),
            Self.cancel(
                where: """
                    \(isNamed) AND q.client_id = (
                        SELECT c.id FROM client c WHERE \(ClientStore.isNamed(client, tenant)))
                    """
            ),
        ])
        return rows[0].isEmpty ? nil : rows[1].count
    }

    /// Returns the statement that removes the requests `q` of locked clients, with their timers,
    /// and selects them.
    static func cancel(where condition: Query) -> Query {
        """
        WITH gone AS (
            DELETE FROM background_task_request q WHERE \(condition) RETURNING q.id
        ),
        timer_row AS (
            -- One that was launched and does not recur has none.
            DELETE FROM timer WHERE subject = ANY (ARRAY(SELECT g.id FROM gone g))
        )
        SELECT id FROM gone
        """
    }

    static func selectID(where condition: Query) -> Query {
        """
        SELECT q.id FROM client c JOIN background_task_request q ON q.client_id = c.id
        WHERE \(condition)
        """
    }

    static func select(where condition: Query) -> Query {
        """
        SELECT q.id, c.identifier AS client, q.identifier, q.kind, q.submitted_at,
            q.earliest_begin_at, q.requires_network, q.requires_power, q.min_interval_ms,
            q.recurrence, q.cancels_transfers, q.completes_with_transfers, q.title, q.subtitle,
            q.due_at, q.waits_for, q.waits_since
        FROM client c JOIN background_task_request q ON q.client_id = c.id
        WHERE \(condition)
        """
    }
}

extension PendingRequest: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let reason: RequestWait.Reason = try row.word("waits_for")
        var request = BackgroundTaskRequest(
            identifier: BackgroundTaskIdentifier(stored: try row.decode("identifier"))
        )
        request.earliestBeginAt = try row.decodeIfPresent("earliest_begin_at")
        request.requiresNetworkConnectivity = try row.decode("requires_network")
        request.requiresExternalPower = try row.decode("requires_power")
        request.minInterval = try row.decodeIfPresent("min_interval_ms", as: Int64.self)
            .map { .milliseconds($0) }
        request.recurrence = try row.recurrence("recurrence")
        request.cancelsTransfersAtExpiry = try row.decode("cancels_transfers")
        request.completesWithTransfers = try row.decode("completes_with_transfers")
        request.title = try row.decodeIfPresent("title")
        request.subtitle = try row.decodeIfPresent("subtitle")
        self.init(
            id: BackgroundTaskRequestID(try row.decode("id")),
            client: try row.client("client"),
            kind: try row.word("kind"),
            request: request,
            submittedAt: try row.decode("submitted_at"),
            wait: RequestWait(
                reason: reason,
                since: try row.decode("waits_since"),
                until: reason.isTimed ? try row.decodeIfPresent("due_at") : nil
            )
        )
    }
}

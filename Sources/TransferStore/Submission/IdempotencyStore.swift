package import Foundation
import Postgres
package import TransferModel
import TransferSecrets

/// The answers to requests, kept for their repetition by `Idempotency-Key`.
package struct IdempotencyStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension IdempotencyStore {
    /// The time for which an answer is kept for repetition.
    package static let idempotencyRetention: Duration = .seconds(24 * 3600)
    /// The number of old keys that one call removes.
    private static let idempotencyPruneMax = 1000

    /// Returns the state of `key`, before any work is done for it.
    package func lookUp(
        idempotencyKey key: [UInt8],
        requestSHA256: [UInt8],
        tenant: TenantID
    ) async throws(StoreError) -> IdempotencyLookup {
        let rows = try await database.run(
            """
            SELECT request_sha256, status, location, body FROM idempotency_key
            WHERE tenant_id = \(tenant.uuid) AND key = \(key)
            """
        )
        guard let row = rows.first else { return .none }
        guard try row.decode("request_sha256", as: [UInt8].self) == requestSHA256 else {
            return .mismatch
        }
        return .replay(
            IdempotencyRecord.Response(
                status: Int(try row.decode("status", as: Int16.self)),
                location: try row.decodeIfPresent("location"),
                body: try database.sealer.open(
                    try row.decode("body"),
                    at: .answer(to: key, of: tenant)
                )
            )
        )
    }

    /// Returns the CTE that stores the answer together with the work that it reports.
    ///
    /// Expects `counter`, so that a request that did nothing keeps no key. A second request with
    /// the key waits here for the first one's commit and then fails on the primary key.
    func keepAnswer(
        _ record: IdempotencyRecord?,
        tenant: TenantID
    ) throws(StoreError) -> Query {
        guard let record else { return "answer AS (SELECT 1)" }
        return """
            answer AS (
                INSERT INTO idempotency_key (
                    tenant_id, key, request_sha256, status, location, body)
                SELECT \(tenant.uuid), \(record.key), \(record.requestSHA256),
                    \(Int16(record.response.status)), \(record.response.location),
                    \(try sealed(record, of: tenant))
                FROM counter
            )
            """
    }

    /// Returns the CTE that stores the answers to the requests of `batches` whose tasks are stored.
    ///
    /// Expects `counter(batch)`. The rows are in the order of every statement, so that two groups
    /// never wait for each other.
    func keepAnswers(_ batches: [SessionBatch]) throws(StoreError) -> Query {
        let kept = batches.enumerated().flatMap { index, batch in
            batch.requests.compactMap { request in
                request.idempotency.map { (Int64(index + 1), batch.session.tenant.uuid, $0) }
            }
        }
        guard !kept.isEmpty else { return "answer AS (SELECT 1)" }
        let bodies = try kept.map { _, tenant, record throws(StoreError) in
            try sealed(record, of: TenantID(tenant))
        }
        return """
            answer AS (
                INSERT INTO idempotency_key (
                    tenant_id, key, request_sha256, status, location, body)
                SELECT k.tenant_id, k.key, k.request_sha256, k.status, k.location, k.body
                FROM unnest(
                    \(kept.map(\.0)), \(kept.map(\.1)), \(kept.map(\.2.key)),
                    \(kept.map(\.2.requestSHA256)), \(kept.map { Int16($0.2.response.status) }),
                    \(kept.map(\.2.response.location)), \(bodies)
                ) AS k (batch, tenant_id, key, request_sha256, status, location, body)
                JOIN counter c USING (batch)
                ORDER BY k.tenant_id, k.key
            )
            """
    }

    /// Returns the answer's body as it is stored: some answers show a secret for the only time.
    private func sealed(
        _ record: IdempotencyRecord,
        of tenant: TenantID
    ) throws(StoreError) -> [UInt8] {
        try database.sealer.seal(
            record.response.body,
            at: .answer(to: record.key, of: tenant)
        )
    }

    /// Runs `query`, which contains ``keepAnswer(_:tenant:)``.
    ///
    /// - Returns: nil if another request took the key meanwhile; its answer can be looked up.
    func runOnce(
        _ query: Query,
        keeping record: IdempotencyRecord?
    ) async throws(StoreError) -> StoredRows? {
        try await runOnce([query], keeping: record)?[0]
    }

    /// Runs `queries` as one transaction; one of them contains ``keepAnswer(_:tenant:)``.
    func runOnce(
        _ queries: [Query],
        keeping record: IdempotencyRecord?
    ) async throws(StoreError) -> [StoredRows]? {
        do throws(StoreError) {
            return try await database.run(queries)
        } catch .defect(let error) where error.constraint == "idempotency_key_pkey" {
            return nil
        } catch .unavailable(let error) where record != nil && error.sqlState == "55P03" {
            throw .idempotencyKeyInUse
        } catch {
            throw error
        }
    }

    /// Returns the answer to a request that ``runOnce(_:keeping:)`` found to be a repetition.
    ///
    /// - Returns: nil if the key belongs to another request.
    func keptAnswer(
        _ record: IdempotencyRecord?,
        tenant: TenantID
    ) async throws(StoreError) -> IdempotencyRecord.Response? {
        guard let record else { throw .idempotencyKeyInUse }
        let found = try await lookUp(
            idempotencyKey: record.key,
            requestSHA256: record.requestSHA256,
            tenant: tenant
        )
        switch found {
        case .replay(let response): return response
        case .mismatch: return nil
        // The key was pruned between the two statements: the client may try again.
        case .none: throw .idempotencyKeyInUse
        }
    }

    /// Removes some of the keys older than ``idempotencyRetention``; none is older than at
    /// `latest`, however far ahead the database's clock is.
    ///
    /// - Returns: the number of removed keys; there may be more after a full batch.
    package func pruneIdempotencyKeys(
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            DELETE FROM idempotency_key WHERE (tenant_id, key) IN (
                SELECT tenant_id, key FROM idempotency_key
                WHERE created_at
                    < least(now(), \(latest)) - \(Self.idempotencyRetention.milliseconds) * interval '1 ms'
                ORDER BY created_at LIMIT \(Self.idempotencyPruneMax)
                FOR UPDATE SKIP LOCKED)
            """
        )
        return rows.affectedCount
    }
}

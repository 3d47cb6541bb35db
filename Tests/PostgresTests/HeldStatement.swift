import Foundation
import Postgres
import TransferTestSupport

/// A statement that the server does not answer until it is released: it waits for a lock.
struct HeldStatement {
    private let key: Int64
    private let holder: Connection

    /// A query that waits for the lock, and has one row.
    var query: Query { "SELECT pg_advisory_xact_lock(\(key))::text AS lock, 1 AS one" }

    init() async throws {
        key = Int64.random(in: .min ... .max)
        holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("SELECT pg_advisory_lock(\(key))::text AS lock")
    }

    /// Returns once the statement has reached the server.
    func waitUntilReached() async throws {
        try await eventually("the statement waits for its lock") {
            // The view `pg_locks` shows the key in two halves.
            try await !holder.execute(
                """
                SELECT 1 AS one FROM pg_locks
                WHERE locktype = 'advisory' AND NOT granted
                    AND (classid::bigint << 32) | objid::bigint = \(key)
                """
            ).isEmpty
        }
    }

    /// Makes the server answer it.
    func letGo() async throws {
        _ = try await holder.execute("SELECT pg_advisory_unlock(\(key)) AS gone")
    }
}

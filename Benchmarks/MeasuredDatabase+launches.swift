import Foundation
import Postgres
import TransferModel

/// Requests for background tasks, and what came of them.
extension MeasuredDatabase {
    /// The longest time until all of some requests are launched.
    private static let launchTimeMax: Duration = .seconds(120)

    /// Makes requests, ten for each of as many new clients as needed, that are due after a time,
    /// and each after the one before by `interval`.
    func makeRequests(
        _ count: Int,
        due: Duration,
        every interval: Duration = .zero
    ) async throws {
        let round = UUID().uuidString.prefix(8)
        _ = try await aside.execute(
            """
            WITH made AS (
                INSERT INTO client (tenant_id, identifier, kind)
                SELECT \(tenant.uuid), \(String(round)) || '.' || n, 'app'
                FROM generate_series(1, \(Int64((count + 9) / 10))) AS n
                RETURNING id
            ),
            handler AS (
                INSERT INTO background_task_handler (
                    client_id, identifier, kind, has_expiration_handler)
                SELECT m.id, 'task' || i, 'processing', true
                FROM made m, generate_series(0, 9) AS i
            ),
            request AS (
                INSERT INTO background_task_request (
                    id, client_id, tenant_id, identifier, kind, submitted_at, requires_network,
                    requires_power, cancels_transfers, completes_with_transfers, occurrence_at,
                    due_at, waits_for, waits_since)
                SELECT gen_random_uuid(), m.id, \(tenant.uuid), 'task' || i, 'processing', now(),
                    false, false, false, false, x.due_at, x.due_at, 'date', now()
                FROM (SELECT id, row_number() OVER () - 1 AS n FROM made) m
                CROSS JOIN generate_series(0, 9) AS i
                CROSS JOIN LATERAL (
                    SELECT now() + \(Self.milliseconds(due)) * interval '1 ms'
                        + (m.n * 10 + i) * \(Self.milliseconds(interval)) * interval '1 ms' AS due_at
                ) x
                WHERE m.n * 10 + i < \(Int64(count))
                RETURNING id, tenant_id, due_at
            )
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT id, 'request', tenant_id, due_at FROM request
            """
        )
    }

    private static func milliseconds(_ duration: Duration) -> Double {
        duration / .milliseconds(1)
    }

    /// Waits until `count` runs were launched.
    ///
    /// - Returns: how late each of them was, in milliseconds.
    func lateness(of count: Int) async throws -> [Double] {
        let deadline = ContinuousClock.now + Self.launchTimeMax
        while true {
            let rows = try await aside.execute(
                """
                SELECT extract(epoch FROM r.launched_at - q.occurrence_at)::float8 * 1000 AS late
                FROM background_task_run r JOIN background_task_request q ON q.id = r.request_id
                """
            )
            if rows.count == count { return try rows.map { try $0.decode("late") } }
            guard .now < deadline else {
                throw Program.Failure(description: "\(rows.count) of \(count) were launched")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Removes all runs, with their requests and events.
    func forgetRuns() async throws {
        for statement: Query in [
            """
            DELETE FROM background_task_request
            WHERE id IN (SELECT request_id FROM background_task_run)
            """,
            "DELETE FROM timer WHERE kind = 'run'",
            "TRUNCATE background_task_run",
            "DELETE FROM event WHERE kind LIKE 'background_task.%'",
        ] { _ = try await aside.execute(statement) }
        try await settle()
    }
}

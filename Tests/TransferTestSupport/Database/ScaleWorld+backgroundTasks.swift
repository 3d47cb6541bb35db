import Foundation
import Postgres

extension ScaleWorld {
    /// As many pending requests as tasks, twenty for each client of other tenants, and as many ended
    /// runs of one client.
    var backgroundTaskRows: [Query] {
        [
            "INSERT INTO tenant (id, name) VALUES (\(crowdID), 'crowd') ON CONFLICT DO NOTHING",
            """
            INSERT INTO client (tenant_id, identifier, kind)
            SELECT \(crowdID), 'c' || n, 'app' FROM generate_series(1, \(count) / 20) AS n
            ON CONFLICT DO NOTHING
            """,
            """
            INSERT INTO background_task_request (
                id, client_id, tenant_id, identifier, kind, submitted_at, requires_network,
                requires_power, cancels_transfers, completes_with_transfers, occurrence_at,
                due_at, waits_for, waits_since)
            SELECT \(uuid("\(epoch)", "'e000'", "c.n * 20 + i")), c.id, \(crowdID), 'r' || i,
                'processing', now(), false, false, false, false, now() + interval '1 day',
                now() + interval '1 day', 'date', now()
            FROM (
                SELECT x.id, row_number() OVER (ORDER BY x.id) AS n
                FROM client x WHERE x.tenant_id = \(crowdID)
            ) c, generate_series(0, 19) AS i
            """,
            """
            INSERT INTO timer (subject, kind, due_at)
            SELECT id, 'request', due_at FROM background_task_request
            """,
            """
            INSERT INTO background_task_run (
                id, client_id, tenant_id, request_id, identifier, kind, launched_at,
                launch_sequence, deadline_at, has_expiration_handler, cancels_transfers,
                completes_with_transfers, accepted_at, ended_at, reason)
            SELECT \(uuid("\(epoch)", "'f000'", "n")), c.id, c.tenant_id, c.id, 'old', 'processing',
                now(), n, now(), true, false, false, now(), now(),
                'completed_by_client'
            FROM generate_series(1, \(count)) AS n, client c
            WHERE c.tenant_id = \(tenantID) AND c.identifier = 'default'
            """,
        ]
    }

    private var crowdID: Query { "'00000000-0000-7000-8000-0000000c40d0'::uuid" }
}

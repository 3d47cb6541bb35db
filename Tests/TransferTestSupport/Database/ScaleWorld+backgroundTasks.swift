import Foundation
import Postgres
import TransferModel

extension ScaleWorld {
    /// The number of sessions of the client `tablet` that have ended.
    private var ended: Int64 { min(count, 50_000) }
    /// The number of transfers of an open run.
    private var linked: Int64 { min(count, BackgroundTaskRun.transfersMax) }

    /// As many pending requests as tasks, twenty for each client of other tenants, as many ended
    /// runs of one client, an open run of many transfers, and many ended sessions of a client.
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
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT id, 'request', tenant_id, due_at FROM background_task_request
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
        ] + openRunRows + endedSessionRows
    }

    /// A run that is to be looked at and that waits for outstanding tasks.
    private var openRunRows: [Query] {
        [
            """
            INSERT INTO background_task_run (
                id, client_id, tenant_id, request_id, identifier, kind, launched_at,
                launch_sequence, deadline_at, has_expiration_handler, cancels_transfers,
                completes_with_transfers, accepted_at)
            SELECT \(openRunID), c.id, c.tenant_id, c.id, 'open', 'processing', now(), 1,
                now() + interval '1 day', true, false, true, now()
            FROM client c WHERE c.tenant_id = \(crowdID) AND c.identifier = 'c1'
            """,
            """
            INSERT INTO background_task_transfer (run_id, task_id)
            SELECT \(openRunID), \(taskID("\(firstOfLarge) + n"))
            FROM generate_series(0, \(linked) - 1) AS n
            """,
            """
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            VALUES (\(openRunID), 'run', \(crowdID), now())
            """,
        ]
    }

    /// Their ends are ahead, so that none is kept for too long.
    private var endedSessionRows: [Query] {
        [
            """
            INSERT INTO session (
                id, tenant_id, client, identifier, timeout_for_request_ms, timeout_for_resource_ms,
                additional_headers, invalidated_at)
            SELECT \(uuid("\(epoch)", "'9100'", "n")), \(tenantID), 'tablet', 'ended', 60000,
                604800000, '[]', now() + interval '1 day'
            FROM generate_series(1, \(ended)) AS n
            """,
            """
            INSERT INTO session_progress (session_id, is_invalidated)
            SELECT \(uuid("\(epoch)", "'9100'", "n")), true
            FROM generate_series(1, \(ended)) AS n
            """,
        ]
    }

    private var openRunID: Query { "'00000000-0000-7000-8000-000000000b0a'::uuid" }

    private var crowdID: Query { "'00000000-0000-7000-8000-0000000c40d0'::uuid" }
}

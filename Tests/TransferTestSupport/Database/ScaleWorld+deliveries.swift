import Postgres
import TransferModel

extension ScaleWorld {
    /// The rows about deliveries.
    ///
    /// A tenth of the other sessions has something due. For `kept`, a tenth as many messages as
    /// tasks are logged, of which half have died.
    var deliveryRows: [Query] {
        [
            """
            INSERT INTO subscription (id, tenant_id, client, session_identifier, url)
            SELECT \(subscriptionID("j")), \(tenantID), CASE WHEN j > 0 THEN 'default' END,
                CASE WHEN j = 1 THEN 'kept' WHEN j > 1 THEN 's' || j END, 'https://hook.test/'
            FROM generate_series(0, \(width) - 1) AS j
            """,
            """
            INSERT INTO signing_secret (subscription_id, number, secret)
            SELECT \(subscriptionID("j")), 1, decode(repeat('00', 32), 'hex')
            FROM generate_series(0, \(width) - 1) AS j
            """,
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT \(subscriptionID("0")), p.session_id, p.last_sequence, NULL
            FROM session_progress p
            UNION ALL
            SELECT \(subscriptionID("j")), \(sessionID("j")), (j % 10 <> 1)::int,
                CASE WHEN j % 10 = 1 THEN now() - interval '1 hour' END
            FROM generate_series(1, \(width) - 1) AS j
            """,
            """
            INSERT INTO delivery_log (id, subscription_id, session_id, sequence, state, died_at)
            SELECT \(uuid("\(epoch)", "'b000'", "i")), \(subscriptionID("1")), \(sessionID("1")),
                i + 1, CASE WHEN i % 2 = 0 THEN 'dead' ELSE 'delivered' END,
                CASE WHEN i % 2 = 0 THEN now() - interval '1 hour' END
            FROM generate_series(0, \(part) - 1) AS i
            """,
            """
            INSERT INTO delivery_attempt (
                delivery_id, number, is_replay, attempted_at, duration_ms, status)
            SELECT \(uuid("\(epoch)", "'b000'", "i")), 1, false, now() - interval '1 hour', 7, 500
            FROM generate_series(0, \(part) - 1) AS i
            """,
        ]
    }
}

import Postgres

extension RunStore {
    /// Whether a subscriber has accepted the launch of a run `r`, by the position of its cursor.
    ///
    /// A cursor that began behind the launch, or that passed it while the subscription did not ask
    /// for launches, says nothing.
    static let isHeard: Query = """
        EXISTS (
            SELECT 1
            FROM (SELECT o.tenant_id, o.identifier FROM client o WHERE o.id = r.client_id) c
            CROSS JOIN LATERAL (\(TimerStore.launchHearers("b.id"))) b
            CROSS JOIN LATERAL (
                SELECT x.acknowledged_sequence, x.launches_after FROM delivery x
                WHERE x.subscription_id = b.id AND x.session_id = r.client_id LIMIT 1
            ) d
            WHERE d.launches_after < r.launch_sequence
                AND d.acknowledged_sequence >= r.launch_sequence AND NOT EXISTS (
                SELECT 1 FROM delivery_log x
                WHERE x.subscription_id = b.id AND x.session_id = r.client_id
                    AND x.sequence >= r.launch_sequence
                    AND coalesce(x.batch_first, x.sequence) <= r.launch_sequence
                    AND x.state IN ('dead', 'expired')))
        """
}

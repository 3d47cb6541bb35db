import Postgres

extension RunStore {
    /// Whether a subscriber has accepted the launch of a run `r`, by the position of its cursor.
    ///
    /// A cursor that began behind the launch, or that passed it while the subscription did not ask
    /// for launches, says nothing.
    static let isHeard: Query = """
        EXISTS (SELECT 1 \(hearers(except: "x.state IN ('dead', 'expired')")))
        """

    /// The time to store for the acceptance of a run `r`: the one that is stored already, or when
    /// its subscriber responded, or else now.
    ///
    /// A delivery tells when its last message was tried, which is the launch unless others have
    /// followed it. It does not tell of replays, which accept launches that were given up.
    static let acceptedAt: Query = """
        coalesce(r.accepted_at, (
            SELECT min(d.attempted_at) \(hearers(except: "x.died_at IS NOT NULL"))
        ), clock_timestamp())
        """

    /// Returns the clauses of a query for the deliveries `d` whose cursors have passed the launch
    /// of a run `r`, except those that have logged such a row `x` about it.
    private static func hearers(except logged: Query) -> Query {
        """
        FROM (SELECT o.tenant_id, o.identifier FROM client o WHERE o.id = r.client_id) c
        CROSS JOIN LATERAL (\(TimerStore.launchHearers("b.id"))) b
        CROSS JOIN LATERAL (
            SELECT x.acknowledged_sequence, x.launches_after, x.attempted_at FROM delivery x
            WHERE x.subscription_id = b.id AND x.session_id = r.client_id LIMIT 1
        ) d
        WHERE d.launches_after < r.launch_sequence
            AND d.acknowledged_sequence >= r.launch_sequence AND (
            -- In the order of its key and one by one, or a plan might read all of the log.
            SELECT x.id FROM delivery_log x
            WHERE x.subscription_id = b.id AND x.session_id = r.client_id
                AND x.sequence >= r.launch_sequence
                AND coalesce(x.batch_first, x.sequence) <= r.launch_sequence
                AND \(logged)
            ORDER BY x.subscription_id, x.session_id, x.sequence LIMIT 1) IS NULL
        """
    }
}

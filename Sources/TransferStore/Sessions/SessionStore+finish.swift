import Postgres
package import TransferModel

extension SessionStore {
    /// Ends a session as soon as none of its tasks is outstanding, which may be at once.
    ///
    /// From the commit on, the session takes no further task. The transaction that ends its last
    /// task also ends the session, whichever instance runs it. The call may be repeated. A session
    /// that does not meet `condition` is as unknown as one that is not there.
    package func finishSession(
        tenant: TenantID,
        client: ClientID = .default,
        identifier: String,
        if condition: RevisionCondition = .none
    ) async throws(StoreError) -> FinishResult {
        let rows = try await database.run(
            """
            WITH \(Self.lock(tenant: tenant, client: client, identifier, if: condition)),
            marked AS (
                UPDATE session_progress p SET
                    is_finishing = true, is_invalidated = p.outstanding = 0,
                    last_sequence = p.last_sequence + (p.outstanding = 0)::int
                FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
                RETURNING p.session_id, p.generation, p.is_invalidated AS is_ended,
                    p.last_sequence - 1 AS base
            ),
            counter AS (SELECT * FROM marked WHERE is_ended),
            \(Self.tellInvalidated()),
            \(Self.endSessions),
            \(Fragment.wake)
            SELECT is_ended FROM marked
            """
        )
        guard let row = rows.first else { return .unknownSession }
        return try row.decode("is_ended") ? .ended : .finishing
    }

    /// Returns the CTEs that find and lock a living session that meets a condition, first its
    /// counters; `locked(session_id)` has it.
    ///
    /// The revision is that of the locked row, also when it was changed since the statement began.
    static func lock(
        tenant: TenantID,
        client: ClientID,
        _ identifier: String,
        if condition: RevisionCondition
    ) -> Query {
        """
        found AS MATERIALIZED (
            SELECT p.session_id
            FROM session s JOIN session_progress p ON p.session_id = ANY (ARRAY[s.id])
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                AND s.identifier = \(identifier) COLLATE "C" AND s.invalidated_at IS NULL
                AND NOT p.is_invalidated
            FOR UPDATE OF p
        ),
        locked AS MATERIALIZED (
            SELECT s.id AS session_id
            FROM found f JOIN session s ON s.id = ANY (ARRAY[f.session_id])
            WHERE \(Fragment.hasRevision("s.revision", condition))
            FOR NO KEY UPDATE OF s
        )
        """
    }

    /// Returns the CTEs that write the event of sessions that end without a task, those for which
    /// `condition` is true; expect `counter(session_id, base, generation)`.
    static func tellInvalidated(where condition: Query = "true") -> Query {
        """
        event_row AS (\(EventRuns.insertEvents("""
            SELECT c.session_id, c.base + 1, 'session.invalidated', c.generation, clock_timestamp(),
                NULL::jsonb
            FROM counter c WHERE \(condition)
            """))),
        news_row AS (\(Feed.recordNews(ofSessions: """
            SELECT c.session_id FROM counter c WHERE \(condition)
            """)))
        """
    }

    /// Releases the identifiers of ended sessions, and stores the work left to do for them, in case
    /// this instance dies before it is done.
    ///
    /// Expects `counter(session_id, is_ended)` for sessions whose counters already say that they
    /// have ended. Everywhere, the session's row is locked after its counters, so that there is no
    /// deadlock.
    static let endSessions: Query = """
        ended AS (
            UPDATE session s SET invalidated_at = now()
            FROM counter c
            WHERE c.is_ended AND s.id = ANY (ARRAY[c.session_id]) AND \(Fragment.isLivingByKey)
            RETURNING s.id, s.tenant_id, s.kind
        ),
        -- One is there already when the client was force-quit before, and serves for both.
        cancellation_row AS (
            INSERT INTO cancellation (session_id, tenant_id) SELECT id, tenant_id FROM ended
            ON CONFLICT (session_id) DO NOTHING
        ),
        erasure_row AS (
            INSERT INTO erasure (session_id) SELECT id FROM ended WHERE kind = 'ephemeral'
        )
        """
}

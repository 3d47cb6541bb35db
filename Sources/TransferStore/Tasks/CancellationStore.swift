import Foundation
import Postgres
import TransferModel

/// The cancellation of many tasks, in pages.
package struct CancellationStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

/// The end of sessions of any size: any instance cancels the outstanding tasks page by page, while
/// none of them can be claimed any more.
extension CancellationStore {
    /// The number of tasks examined by one transaction, which holds the session's counters while it
    /// cancels them.
    package static let cancellationPageMax = 1000
    /// The number of sessions found by one search for sessions with tasks to cancel.
    static let cancellationSessionsMax = 100
    /// The number of tries for tasks that are found moving between two tables.
    private static let cancellationTriesMax = 20

    /// The work left for a session after one of its pages was cancelled.
    enum CancellationRest: String {
        /// There are tasks after the page.
        case more
        /// All tasks were examined, but some were moving between two tables.
        case again
        /// Nothing, except tasks that have pending renames or are handled by another instance.
        case none
    }

    /// Cancels a page of outstanding tasks of each session that has ended or whose client was
    /// force-quit.
    ///
    /// A session that is blocked by others is left for later, and does not delay the rest. Tenants
    /// take turns, as ``WaitingWork`` says.
    ///
    /// - Returns: whether there are more pages.
    /// - Throws: why nothing could be done.
    @discardableResult
    package func continueCancellations() async throws(StoreError) -> Bool {
        try await WaitingWork.advance(
            "cancellation",
            by: "session_id",
            in: database
        ) { session throws(StoreError) in
            try await cancelPage(of: SessionID(session)) == .more ? 1 : 0
        } > 0
    }

    /// Cancels the first page of a session, which for most sessions is all of it.
    ///
    /// This never fails: the decision is stored, and ``continueCancellations()`` carries it out
    /// later and throws the reason if that fails.
    func beginCancellation(of session: SessionID) async {
        for _ in 0..<Self.cancellationTriesMax {
            do throws(StoreError) {
                guard try await cancelPage(of: session) == .again else { return }
            } catch {
                return
            }
        }
    }

    /// Cancels a page of a session's outstanding tasks, and stores the position reached.
    ///
    /// One instance at a time does this. Another one waits for it if `waits`, and otherwise does
    /// nothing. If an instance is stopped between two pages, the next page finds all the remaining
    /// tasks.
    func cancelPage(
        of session: SessionID,
        waits: Bool = false
    ) async throws(StoreError) -> CancellationRest {
        let id: Query = "\(session.uuid)"
        let key: Query = """
            \(AdvisoryLock.cancellation.rawValue), hashtext(\(session.uuid)::text)
            """
        let isElected: Query =
            waits
            ? "(SELECT pg_advisory_xact_lock(\(key)) IS NOT NULL)"
            : "(SELECT pg_try_advisory_xact_lock(\(key)))"
        let rows = try await database.run([
            database.briefLocks,
            try Self.cancelPage(of: id, if: isElected),
            // As in every transaction, before the row of the cancellation.
            """
            SELECT 1 FROM session_progress p
            WHERE p.session_id = \(id) AND \(isElected) FOR UPDATE OF p
            """,
            """
            UPDATE cancellation c SET cancelled_through = p.last
            FROM (\(Self.lastOfPage(of: id))) p
            WHERE c.session_id = \(id) AND \(isElected)
            """,
            """
            SELECT CASE WHEN \(Self.isAnyBehind) THEN 'more' WHEN \(Self.isAnyLeft) THEN 'again'
                ELSE 'none' END AS rest
            FROM cancellation c JOIN session_progress p ON p.session_id = c.session_id
            WHERE c.session_id = \(id) AND \(isElected)
            """,
            // Another pass, for tasks that were moving between tables or came back from an attempt.
            """
            UPDATE cancellation c SET cancelled_through = \(UUID.zero)
            FROM session_progress p
            WHERE c.session_id = \(id) AND p.session_id = c.session_id
                AND NOT \(Self.isAnyBehind) AND \(Self.isAnyLeft) AND \(isElected)
            """,
            // Under the lock: a force-quit or an end that comes beside this is seen here, or stores
            // a cancellation of its own afterwards.
            """
            WITH finished AS MATERIALIZED (
                SELECT p.session_id FROM session_progress p
                WHERE p.session_id = \(id)
                    AND (p.outstanding = 0 OR NOT (p.is_invalidated OR p.is_force_quit))
                FOR UPDATE
            )
            DELETE FROM cancellation c WHERE c.session_id = (SELECT f.session_id FROM finished f)
            """,
            QuestionStore.forgetCredentials(ofEndedSession: session),
        ])
        guard let row = rows[4].first else { return .none }
        return try row.word("rest")
    }

    /// Ends the outstanding tasks of the page after the position of the session's cancellation.
    private static func cancelPage(
        of session: Query,
        if isElected: Query
    ) throws(StoreError) -> Query {
        let quit = try StoredJSON.text(
            of: TransferFailure(.userForceQuit, "Its client was force-quit.")
        )
        return """
            WITH chosen AS MATERIALIZED (
                SELECT c.session_id, c.cancelled_through, p.is_force_quit
                FROM cancellation c JOIN session_progress p ON p.session_id = c.session_id
                WHERE c.session_id = \(session) AND p.outstanding > 0
                    AND (p.is_invalidated OR p.is_force_quit) AND \(isElected)
            ),
            cause AS (
                SELECT CASE WHEN c.is_force_quit THEN \(quit)::text END AS failure FROM chosen c
            ),
            page AS MATERIALIZED (
                SELECT t.* FROM chosen c CROSS JOIN LATERAL (
                    SELECT t.id, t.tenant_id, t.session_id, t.generation, t.host_key, t.priority_rank
                    FROM task t
                    WHERE \(isBehind)
                    ORDER BY t.session_id, t.id LIMIT \(cancellationPageMax)
                ) t
            ),
            target AS MATERIALIZED (
                -- Not a join, which might read all outcomes there are.
                SELECT g.* FROM page g
                WHERE (SELECT o.task_id FROM outcome o WHERE o.task_id = g.id) IS NULL
            ),
            \(ControlStore.cancelTargets(producing: nil, because: "(SELECT failure FROM cause)"))
            SELECT task_id FROM gone
            """
    }

    /// Selects the last task of that page; no row when there is no task after the position.
    private static func lastOfPage(of session: Query) -> Query {
        """
        SELECT t.id AS last FROM (
            SELECT t.id FROM cancellation c CROSS JOIN LATERAL (
                SELECT t.id FROM task t WHERE \(isBehind)
                ORDER BY t.session_id, t.id LIMIT \(cancellationPageMax)
            ) t
            WHERE c.session_id = \(session)
        ) t
        ORDER BY t.id DESC LIMIT 1
        """
    }

    /// Whether a task `t` is after the position of a cancellation `c` of its session.
    ///
    /// By a range of one index: with an equality, the key of all tasks may be read.
    private static let isBehind: Query = """
        (t.session_id, t.id) > (c.session_id, c.cancelled_through)
            AND t.session_id <= c.session_id
        """

    /// Whether there are tasks after the position of a cancellation `c`, whose session has the
    /// counters `p`.
    private static let isAnyBehind: Query = """
        (p.outstanding > 0 AND (
            SELECT t.id FROM task t WHERE \(isBehind)
            ORDER BY t.session_id, t.id LIMIT 1) IS NOT NULL)
        """

    /// Whether a session with the counters `p` has more outstanding tasks than those with
    /// pending renames.
    static let isAnyLeft: Query = """
        (p.outstanding > (SELECT count(*) FROM pending_rename b WHERE b.session_id = p.session_id))
        """

    /// Selects whether tasks of a session may begin: it has not ended, and its client was not
    /// force-quit.
    ///
    /// This is one look-up per task, whatever the planner assumes about the table.
    static func mayBegin(session: Query) -> Query {
        """
        (SELECT NOT (p.is_invalidated OR p.is_force_quit) FROM session_progress p
            WHERE p.session_id = \(session))
        """
    }
}

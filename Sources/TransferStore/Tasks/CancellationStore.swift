import Foundation
import Postgres
import TransferModel

/// The cancellation of many tasks, in pages.
package struct CancellationStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

/// How sessions of any size end: what is outstanding of one is cancelled page by page, by whichever
/// instance, while nothing of it is claimed any more.
extension CancellationStore {
    /// Tasks looked at by one transaction, which holds the session's counters while it cancels
    /// them.
    package static let cancellationPageMax = 1000
    /// Sessions found by one look for those that have something to cancel.
    static let cancellationSessionsMax = 100
    /// Tries for tasks that are met on their way between two tables.
    private static let cancellationTriesMax = 20
    /// Any number that no other lock of the service has: "cncl" in ASCII.
    private static let cancellationLockKey: Int32 = 0x636E_636C

    /// What is left of a session after a page of it was cancelled.
    enum CancellationRest: String {
        /// There are tasks behind the page.
        case more
        /// All tasks were looked at; some were met on their way between two tables.
        case again
        /// Nothing, but for what is being published or looked after by another instance.
        case none
    }

    /// Cancels a page of what is outstanding of each session that has ended or whose client was
    /// force-quit.
    ///
    /// A session that others hold up is left for the next call, and holds up none of the others.
    ///
    /// - Returns: whether there are more pages.
    /// - Throws: why nothing could be done.
    @discardableResult
    package func continueCancellations() async throws(StoreError) -> Bool {
        var isMore = false
        var failure: StoreError?
        var position: SessionID?
        repeat {
            let sessions = try await cancellations(after: position)
            for session in sessions {
                do throws(StoreError) {
                    if try await cancelPage(of: session) == .more { isMore = true }
                } catch {
                    failure = failure ?? error
                }
            }
            position = sessions.count == Self.cancellationSessionsMax ? sessions.last : nil
        } while position != nil
        if let failure, !isMore { throw failure }
        return isMore
    }

    /// Sessions of which something may be outstanding that is to be cancelled, in order.
    private func cancellations(
        after position: SessionID?
    ) async throws(StoreError) -> [SessionID] {
        let rows = try await database.run(
            """
            SELECT session_id FROM cancellation WHERE session_id > \(position?.uuid ?? UUID.zero)
            ORDER BY session_id LIMIT \(Self.cancellationSessionsMax)
            """
        )
        return try rows.map { row throws(StoreError) in try row.session("session_id") }
    }

    /// Cancels the first page of a session, which for most is all of it.
    ///
    /// It never fails: what has been decided is remembered, and continued with
    /// ``continueCancellations()``, which tells why it could not be done.
    func beginCancellation(of session: SessionID) async {
        for _ in 0..<Self.cancellationTriesMax {
            do throws(StoreError) {
                guard try await cancelPage(of: session) == .again else { return }
            } catch {
                return
            }
        }
    }

    /// Cancels a page of what is outstanding of a session, and remembers how far it is.
    ///
    /// One instance at a time does so; another one waits for it, or has nothing to do unless
    /// `waits`. Whoever is stopped between two pages leaves nothing undone that the next page does
    /// not find.
    func cancelPage(
        of session: SessionID,
        waits: Bool = false
    ) async throws(StoreError) -> CancellationRest {
        let id: Query = "\(session.uuid)"
        let key: Query = "\(Self.cancellationLockKey), hashtext(\(session.uuid)::text)"
        let isElected: Query =
            waits
            ? "(SELECT pg_advisory_xact_lock(\(key)) IS NOT NULL)"
            : "(SELECT pg_try_advisory_xact_lock(\(key)))"
        let rows = try await database.run([
            Database.TransactionSetting.briefLocks.query,
            try Self.cancelPage(of: id, if: isElected),
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
            // Another pass, for what was met on its way or has come back from an attempt.
            """
            UPDATE cancellation c SET cancelled_through = \(UUID.zero)
            FROM session_progress p
            WHERE c.session_id = \(id) AND p.session_id = c.session_id
                AND NOT \(Self.isAnyBehind) AND \(Self.isAnyLeft) AND \(isElected)
            """,
            """
            DELETE FROM cancellation c USING session_progress p
            WHERE c.session_id = \(id) AND p.session_id = c.session_id
                AND (p.outstanding = 0 OR NOT (p.is_invalidated OR p.is_force_quit))
            """,
            DecisionStore.forgetCredentials(ofEndedSession: session),
        ])
        guard let row = rows[3].first else { return .none }
        return try row.word("rest")
    }

    /// Ends the outstanding tasks of the page behind the place where the session's cancellation is.
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
                    WHERE t.session_id = c.session_id AND t.id > c.cancelled_through
                    ORDER BY t.id LIMIT \(cancellationPageMax)
                ) t
            ),
            target AS MATERIALIZED (
                -- Not a join, which might read all outcomes there are.
                SELECT g.* FROM page g
                WHERE (SELECT o.task_id FROM outcome o WHERE o.task_id = g.id) IS NULL
            ),
            \(ControlStore.cancelTargets(producing: nil, because: "(SELECT failure FROM cause)"))
            """
    }

    /// Returns the last task of that page; no row when there is none behind the place.
    private static func lastOfPage(of session: Query) -> Query {
        """
        SELECT t.id AS last FROM (
            SELECT t.id FROM task t
            WHERE t.session_id = \(session) AND t.id > (
                SELECT x.cancelled_through FROM cancellation x WHERE x.session_id = \(session))
            ORDER BY t.id LIMIT \(cancellationPageMax)
        ) t
        ORDER BY t.id DESC LIMIT 1
        """
    }

    /// Whether there are tasks behind the place of a cancellation `c`, of a session with `p`.
    private static let isAnyBehind: Query = """
        (p.outstanding > 0 AND EXISTS (
            SELECT 1 FROM task t
            WHERE t.session_id = c.session_id AND t.id > c.cancelled_through))
        """

    /// Whether more is outstanding of a session with `p` than what is being published.
    ///
    /// Those are few, and walked through by their key.
    static let isAnyLeft: Query = """
        (p.outstanding > (
            SELECT count(*) FROM pending_rename b
            WHERE b.task_id > \(UUID.zero) AND b.session_id = p.session_id))
        """

    /// Returns whether tasks of a session may begin: it has not ended, and its client was not
    /// force-quit.
    ///
    /// A look-up for each, whatever is believed of the table.
    static func mayBegin(session: Query) -> Query {
        """
        (SELECT NOT (p.is_invalidated OR p.is_force_quit) FROM session_progress p
            WHERE p.session_id = \(session))
        """
    }
}

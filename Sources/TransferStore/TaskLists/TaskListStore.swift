import Foundation
import Postgres
package import TransferModel

/// The tasks of a session, or of all sessions of a tenant, in pages.
package struct TaskListStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

/// The tasks of one session.
extension TaskListStore {
    /// Returns a page of those of a session's tasks that `filter` names, in order of submission or
    /// in the reverse order; nil when the tenant has no such session.
    ///
    /// If no index has those tasks alone, only a limited number of tasks is examined: a page may
    /// then hold fewer than `limit` tasks, or none, although more follow. It also ends early when
    /// its client strings are large: see ``PageSize/pageBytesMax``.
    package func tasks(
        tenant: TenantID,
        client: ClientID = .default,
        sessionIdentifier: String,
        filter: TaskFilter,
        after: TaskID?,
        limit: Int
    ) async throws(StoreError) -> TaskPage? {
        let found = try await SessionStore(database).sessionOrEnded(
            tenant: tenant,
            client: client,
            identifier: sessionIdentifier
        )
        guard let session = found else { return nil }
        return try await tasks(of: session.id, filter: filter, after: after, limit: limit)
    }

    /// Returns a page of those of a session's tasks that `filter` names.
    func tasks(
        of session: SessionID,
        filter: TaskFilter,
        after: TaskID?,
        limit: Int
    ) async throws(StoreError) -> TaskPage {
        let start = after?.uuid ?? (filter.isNewestFirst ? UUID.last : UUID.zero)
        // The extra row shows whether there is another page.
        let page =
            filter.isOneStateAtMost
            ? Self.page(of: session, in: filter.states.first, after: start, limit: limit + 1)
            : Self.page(of: session, filter, after: start, limit: limit + 1)
        let tasks: Query = """
            SELECT r.* FROM page
            CROSS JOIN LATERAL (\(TaskStore.selectTask) WHERE t.id = page.task_id LIMIT 1) r
            """
        let key: Query = filter.isNewestFirst ? "id DESC" : "id"
        let rows = try await database.run(
            """
            WITH \(page)
            SELECT x.looked_through, r.*
            FROM (SELECT CASE WHEN (SELECT count(*) FROM page) <= \(limit)
                THEN \(Self.selectEnd(ofLook: Self.lookMax, orderedBy: key)) END AS looked_through) x
            LEFT JOIN (\(PageSize.cut(tasks, orderedBy: key, at: PageSize.pageBytesMax))) r ON true
            ORDER BY r.\(key)
            """
        )
        return try TaskPage(rows, limit: limit, keptFor: database.settings.resultRetention)
    }

    /// The number of tasks examined when searching for those in one state.
    private static let lookMax = 5000

    /// Selects the first tasks `(id)` of a session after one of them, at most `limit`.
    ///
    /// The range from there to the session's end, or to `end`, is read in the order of its index:
    /// with an equality, a plan may scan the tasks of all sessions in the order of their keys.
    static func selectTasks(
        of session: SessionID,
        after: UUID,
        upTo end: UUID? = nil,
        limit: Int,
        isNewestFirst: Bool = false
    ) -> Query {
        let key = session.uuid
        if isNewestFirst {
            let isBeforeEnd: Query =
                end.map { end -> Query in "(t.session_id, t.id) >= (\(key), \(end))" }
                ?? "t.session_id >= \(key)"
            return """
                SELECT t.id FROM task t
                WHERE (t.session_id, t.id) < (\(key), \(after)) AND \(isBeforeEnd)
                ORDER BY t.session_id DESC, t.id DESC LIMIT \(limit)
                """
        }
        let isBeforeEnd: Query =
            end.map { end -> Query in "(t.session_id, t.id) <= (\(key), \(end))" }
            ?? "t.session_id <= \(key)"
        return """
            SELECT t.id FROM task t
            WHERE (t.session_id, t.id) > (\(key), \(after)) AND \(isBeforeEnd)
            ORDER BY t.session_id, t.id LIMIT \(limit)
            """
    }

    /// Selects the first failed or cancelled tasks `(id)` of a session after one of them, up to
    /// `end` and at most `limit`; none if that state is nil.
    static func selectEnded(
        of session: SessionID,
        in state: TransferState?,
        after: UUID,
        upTo end: UUID? = nil,
        limit: Int,
        isNewestFirst: Bool = false
    ) -> Query {
        let key = session.uuid
        func place(_ task: UUID) -> Query {
            "(\(key), \(state?.rawValue)::text::task_state, \(task))"
        }
        let own: Query = "(o.session_id, o.state, o.task_id)"
        let range: Query
        if isNewestFirst {
            let isBeforeEnd: Query =
                end.map { end -> Query in "\(own) >= \(place(end))" }
                ?? "o.session_id >= \(key)"
            range = """
                \(own) < \(place(after)) AND \(isBeforeEnd)
                ORDER BY o.session_id DESC, o.state DESC, o.task_id DESC
                """
        } else {
            let isBeforeEnd: Query =
                end.map { end -> Query in "\(own) <= \(place(end))" }
                ?? "o.session_id <= \(key)"
            range = """
                \(own) > \(place(after)) AND \(isBeforeEnd)
                ORDER BY o.session_id, o.state, o.task_id
                """
        }
        return """
            SELECT x.task_id AS id
            FROM (
                SELECT o.task_id, o.state FROM outcome o
                WHERE o.state <> 'completed' AND \(range) LIMIT \(limit)
            ) x
            WHERE x.state::text = \(state?.rawValue)
            """
    }

    /// Selects the last task of `look` if it has `count` tasks, so that there may be more after it;
    /// NULL otherwise.
    static func selectEnd(ofLook count: Int, orderedBy key: Query = "id") -> Query {
        "(SELECT l.id FROM look l ORDER BY l.\(key) OFFSET \(count - 1) LIMIT 1)"
    }

    /// Offers `page(task_id)`, from the table that holds the tasks of that state, and `look(id)`:
    /// the tasks that were examined, if that table is not in the order of sessions.
    private static func page(
        of session: SessionID,
        in state: TransferState?,
        after: UUID,
        limit: Int
    ) -> Query {
        let key = session.uuid
        let nothing: Query = "look AS (SELECT NULL::uuid AS id WHERE false)"
        switch state {
        case nil:
            return """
                \(nothing),
                page AS MATERIALIZED (
                    SELECT id AS task_id
                    FROM (\(selectTasks(of: session, after: after, limit: limit))) t
                )
                """
        case .failed, .cancelled:
            return """
                \(nothing),
                page AS MATERIALIZED (
                    SELECT id AS task_id
                    FROM (\(selectEnded(of: session, in: state, after: after, limit: limit))) t
                )
                """
        case .running:
            // These tables hold at most the slots of the fleet.
            return """
                \(nothing),
                page AS MATERIALIZED (
                    SELECT task_id FROM (
                        SELECT task_id, session_id FROM running_attempt
                        UNION ALL SELECT task_id, session_id FROM pending_rename
                    ) running
                    WHERE session_id = \(key) AND task_id > \(after)
                    ORDER BY task_id LIMIT \(limit)
                )
                """
        case .waitingToBegin, .waitingForAuthentication:
            return """
                look AS MATERIALIZED (
                    SELECT q.task_id AS id, \(CountStore.state(ofAsked: "q")) AS state
                    FROM asked q
                    WHERE (q.session_id, q.task_id) > (\(key), \(after))
                        AND q.session_id <= \(key)
                    ORDER BY q.session_id, q.task_id LIMIT \(lookMax)
                ),
                page AS MATERIALIZED (
                    SELECT l.id AS task_id FROM look l WHERE l.state::text = \(state?.rawValue)
                    ORDER BY l.id LIMIT \(limit)
                )
                """
        case .completed:
            return page(
                of: session,
                after: after,
                limit: limit,
                "SELECT 1 FROM outcome o WHERE o.task_id = l.id AND o.state = 'completed'"
            )
        case .suspended:
            return page(
                of: session,
                after: after,
                limit: limit,
                """
                SELECT 1 FROM held h WHERE h.task_id = l.id
                """
            )
        case .scheduled, .waitingForRetry, .waitingForConnectivity:
            return page(
                of: session,
                after: after,
                limit: limit,
                """
                SELECT 1 FROM delayed d WHERE d.task_id = l.id
                    AND (\(CountStore.state(ofDelayed: "d")))::text = \(state?.rawValue)
                """
            )
        case .queued:
            return page(
                of: session,
                after: after,
                limit: limit,
                """
                SELECT 1
                FROM (SELECT * FROM task t WHERE t.id = l.id LIMIT 1) t
                CROSS JOIN LATERAL (\(ReadyRuns.select("1"))) r
                """
            )
        }
    }

    /// Offers `look` and the `page` of its tasks `l` for which `condition` selects something.
    ///
    /// A nested loop keeps the order of the look, and ends with the page.
    private static func page(
        of session: SessionID,
        after: UUID,
        limit: Int,
        _ condition: Query
    ) -> Query {
        """
        look AS MATERIALIZED (\(selectTasks(of: session, after: after, limit: lookMax))),
        page AS MATERIALIZED (
            SELECT l.id AS task_id
            FROM look l CROSS JOIN LATERAL (\(condition) LIMIT 1) s
            LIMIT \(limit)
        )
        """
    }

    /// Offers `look`, the tasks that are examined, and the `page` of those that `filter` names.
    ///
    /// Failed and cancelled tasks are examined alone if no other states are named. The times bound
    /// the examined tasks too, because their identifiers begin with the time of an API instance.
    private static func page(
        of session: SessionID,
        _ filter: TaskFilter,
        after place: UUID,
        limit: Int
    ) -> Query {
        let oldest = filter.createdFrom.map { UUID.first(at: $0 - clockDifferenceMax) }
        let newest = filter.createdBefore.map { UUID.first(at: $0 + clockDifferenceMax) }
        let start =
            filter.isNewestFirst ? min(place, newest ?? place) : max(place, oldest ?? place)
        let end = filter.isNewestFirst ? oldest : newest
        let key: Query = filter.isNewestFirst ? "id DESC" : "id"
        return """
            look AS MATERIALIZED (
                \(selectLook(of: session, filter, after: start, upTo: end))
                ORDER BY \(key) LIMIT \(lookMax)
            ),
            page AS MATERIALIZED (
                SELECT l.id AS task_id
                FROM look l CROSS JOIN LATERAL (
                    SELECT 1 FROM task t \(TaskStore.joinPlaces)
                    WHERE t.id = l.id AND \(condition(filter)) LIMIT 1
                ) s
                LIMIT \(limit)
            )
            """
    }

    /// The most by which the clocks of API instances and of the database may differ.
    private static let clockDifferenceMax: TimeInterval = 3600

    private static func selectLook(
        of session: SessionID,
        _ filter: TaskFilter,
        after start: UUID,
        upTo end: UUID?
    ) -> Query {
        guard !filter.states.isEmpty,
            filter.states.allSatisfy({ $0 == .failed || $0 == .cancelled })
        else {
            let tasks = selectTasks(
                of: session,
                after: start,
                upTo: end,
                limit: lookMax,
                isNewestFirst: filter.isNewestFirst
            )
            return "SELECT t.id FROM (\(tasks)) t"
        }
        let ended = filter.states.map { state in
            selectEnded(
                of: session,
                in: state,
                after: start,
                upTo: end,
                limit: lookMax,
                isNewestFirst: filter.isNewestFirst
            )
        }
        let all = ended.dropFirst().reduce(ended[0]) { "\($0) UNION ALL \($1)" }
        return "SELECT t.id FROM (\(all)) t"
    }

    /// Whether `filter` names a task `t` with the places of ``TaskStore/joinPlaces``.
    private static func condition(_ filter: TaskFilter) -> Query {
        var conditions: [Query] = []
        if !filter.states.isEmpty {
            conditions.append(
                "(\(TaskStore.stateOfPlaces)) = ANY (\(filter.states.map(\.rawValue)))"
            )
        }
        if let kind = filter.kind { conditions.append("t.kind = \(kind.rawValue)") }
        if let text = filter.clientString { conditions.append("t.client_string = \(text.utf8)") }
        if let begin = filter.createdFrom { conditions.append("t.created_at >= \(begin)") }
        if let end = filter.createdBefore { conditions.append("t.created_at < \(end)") }
        return conditions.reduce("true") { "\($0) AND \($1)" }
    }
}

extension UUID {
    /// The identifier before all of version 7 that are given at a time or later.
    fileprivate static func first(at date: Date) -> UUID {
        let bytes = UUID.version7(at: date).uuid
        return UUID(
            uuid: (
                bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
            )
        )
    }
}

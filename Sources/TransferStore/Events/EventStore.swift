import Foundation
import Postgres
package import TransferModel

/// Reads the events of sessions, clients and tenants.
package struct EventStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension EventStore {
    /// Returns the positions of logs, all in one query; missing logs are absent from the result.
    package func eventPositions(
        of logs: [SessionID]
    ) async throws(StoreError) -> [SessionID: EventPosition] {
        let rows = try await database.run(
            """
            SELECT x.id, coalesce(p.last_sequence, 0) AS last_sequence,
                coalesce(p.is_invalidated AND p.outstanding = 0, false) AS is_final
            FROM unnest(\(logs.map(\.uuid))) AS x (id)
            LEFT JOIN session_progress p ON p.session_id = ANY (ARRAY[x.id])
            -- A tenant or a client without any event yet has no counters.
            LEFT JOIN tenant t ON t.id = ANY (ARRAY[x.id])
            LEFT JOIN client c ON c.id = ANY (ARRAY[x.id])
            WHERE p.session_id IS NOT NULL OR t.id IS NOT NULL OR c.id IS NOT NULL
            """
        )
        var positions: [SessionID: EventPosition] = [:]
        for row in rows {
            positions[try row.session("id")] = EventPosition(
                lastSequence: try row.decode("last_sequence"),
                isFinal: try row.decode("is_final")
            )
        }
        return positions
    }

    /// Returns a page of a living session's events in sequence.
    ///
    /// - Returns: nil if the tenant has no such living session.
    package func events(
        tenant: TenantID,
        client: ClientID = .default,
        sessionIdentifier: String,
        after sequence: Int64,
        limit: Int
    ) async throws(StoreError) -> ListPage<SessionEvent, EventPlace>? {
        let found = try await SessionStore(database).session(
            tenant: tenant,
            client: client,
            identifier: sessionIdentifier
        )
        guard let session = found else { return nil }
        return try await events(of: session.id, after: sequence, limit: limit)
    }

    /// Returns the bounds of a log.
    ///
    /// - Returns: the sequence of the oldest event that is kept, or of the next one if none is
    ///   kept; and the sequence of the newest event, 0 for a session without any, nil for a log
    ///   that does not exist.
    package func eventBounds(
        of log: SessionID
    ) async throws(StoreError) -> (oldest: Int64, newest: Int64?) {
        let rows = try await database.run(
            """
            SELECT p.newest, coalesce(
                (\(EventRuns.selectOldest("r.first_sequence", of: "\(log.uuid)"))),
                p.newest + 1,
                1) AS oldest
            FROM (SELECT max(last_sequence) AS newest FROM session_progress
                WHERE session_id = \(log.uuid)) p
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no bounds") }
        return (try row.decode("oldest"), try row.decodeIfPresent("newest"))
    }

    /// Returns the events of a session, living or not, of a client or of a tenant, in sequence.
    ///
    /// Numbers have no gaps, because each is assigned under the session's lock in the transaction
    /// that commits it. Only the oldest may be missing, because they are not kept forever.
    ///
    /// The page has fewer than `limit` events if their client strings reach `bytesMax` before; it
    /// then has more, as one of `limit` events has.
    package func events(
        of session: SessionID,
        after sequence: Int64,
        limit: Int,
        bytesMax: Int = PageSize.pageBytesMax
    ) async throws(StoreError) -> ListPage<SessionEvent, EventPlace> {
        let rows = try await database.run(
            PageSize.cut(
                Self.selectEvents(
                    EventRuns.selectEvents(
                        of: "\(session.uuid)",
                        after: "\(sequence)",
                        limit: "\(limit)"
                    ),
                    orderedBy: "sequence"
                ),
                orderedBy: "sequence",
                at: bytesMax
            )
        )
        let page: ListPage<SessionEvent, EventPlace> = try ListPage(
            rows,
            limit: limit,
            place: { row throws(StoreError) in try EventPlace(row) },
            item: SessionEvent.init
        )
        let isCut = try PageSize.bytes(of: rows) >= bytesMax
        return ListPage(
            items: page.items,
            unreadable: page.unreadable,
            lastPlace: page.lastPlace,
            hasMore: isCut || rows.count == limit
        )
    }

    /// The first failed tasks of the generation that an event `e` ends, up to the bounds of its
    /// payload:
    /// `(id, code, client_string, is_omitted)`.
    ///
    /// The range starts with the generation's first task and is read in the order of its index, up
    /// to the reported number. With an equality instead, a plan may read all tasks in the order of
    /// their keys.
    private static let selectFailedTasks: Query = """
        SELECT u.id, u.code, CASE WHEN u.fits THEN u.client_string END AS client_string,
            NOT u.fits AND u.client_string IS NOT NULL AS is_omitted
        FROM (
            SELECT x.*,
                sum(coalesce(octet_length(x.client_string), 0)) OVER (ORDER BY x.id)
                    <= \(Int64(SessionEvent.GenerationSummary.clientStringBytesMax)) AS fits
            FROM (
                SELECT k.id, k.code, CASE
                    WHEN c.task_id IS NOT NULL THEN c.client_string
                    ELSE coalesce(
                        (SELECT t.client_string FROM task t WHERE t.id = k.id),
                        (SELECT y.client_string FROM expired_task y WHERE y.task_id = k.id))
                    END AS client_string
                FROM (
                    (SELECT o.task_id AS id, o.session_id, o.generation, o.failure->>'code' AS code
                    FROM outcome o
                    WHERE (o.state = 'failed') IS TRUE
                        AND (o.session_id, o.generation) >= (e.session_id, e.generation)
                    ORDER BY o.session_id, o.generation, o.task_id LIMIT \(failedTasksMax))
                    UNION ALL
                    (SELECT y.task_id, y.session_id, y.generation, y.failure_code
                    FROM expired_task y
                    WHERE y.failure_code IS NOT NULL
                        AND (y.session_id, y.generation) >= (e.session_id, e.generation)
                    ORDER BY y.session_id, y.generation, y.task_id LIMIT \(failedTasksMax))
                    UNION ALL
                    (SELECT y.task_id, y.session_id, y.generation, y.failure_code
                    FROM retried_failure y
                    WHERE (y.session_id, y.generation) >= (e.session_id, e.generation)
                    ORDER BY y.session_id, y.generation, y.task_id LIMIT \(failedTasksMax))
                ) k
                -- The client string at the time of the event, as that of a task's own events.
                LEFT JOIN LATERAL (
                    SELECT x.task_id, x.client_string FROM client_string_change x
                    WHERE x.task_id = k.id AND x.through_sequence >= e.sequence
                    ORDER BY x.through_sequence LIMIT 1
                ) c ON true
                WHERE k.session_id = e.session_id AND k.generation = e.generation
                ORDER BY k.id LIMIT \(failedTasksMax)
            ) x
        ) u
        """
    private static let failedTasksMax = SessionEvent.GenerationSummary.failedTasksMax

    /// Returns the query for `events`, as ``EventRuns/columns`` describes them, with what other
    /// tables tell of them, and with `columns` of their own.
    static func selectEvents(
        _ events: Query,
        with columns: Query = "",
        orderedBy key: Query
    ) -> Query {
        """
        SELECT \(columns) e.id, e.session_id, s.identifier,
            -- Read only for an event of no session.
            CASE WHEN s.id IS NOT NULL THEN s.client ELSE (
                SELECT x.identifier FROM client x WHERE x.id = e.session_id) END AS client,
            e.sequence, e.kind, e.generation,
            e.occurred_at, e.task_id, e.task_state::text AS task_state, e.attempt,
            e.bytes_received, e.bytes_expected, e.bytes_sent, e.bytes_to_send, e.failure,
            e.summary, e.details,
            CASE
                WHEN c.task_id IS NOT NULL THEN c.client_string
                WHEN t.id IS NOT NULL THEN t.client_string
                -- Read only if the task is no longer kept but its events are.
                ELSE (SELECT y.client_string FROM expired_task y WHERE y.task_id = e.task_id)
            END AS client_string,
            CASE WHEN e.summary IS NOT NULL THEN coalesce((
                SELECT jsonb_agg(jsonb_build_object(
                    'id', f.id, 'code', f.code, 'client_string',
                    replace(encode(f.client_string, 'base64'), chr(10), ''),
                    'is_omitted', f.is_omitted) ORDER BY f.id)
                FROM (\(Self.selectFailedTasks)) f), '[]'::jsonb) END AS failed_tasks,
            t.kind AS task_kind, t.destination_path, t.destination_overwrite,
            -- Until its first attempt, a task's client may change the request.
            CASE WHEN e.attempt > 0 OR e.task_state IN ('completed', 'failed', 'cancelled')
                THEN split_part(split_part(t.url, '#', 1), '?', 1) END AS url,
            o.http_status, o.response_head
        FROM (\(events)) e
        LEFT JOIN session s ON s.id = ANY (ARRAY[e.session_id])
        LEFT JOIN task t ON t.id = ANY (ARRAY[e.task_id])
        -- The client string at the time of the event, if it has been changed since.
        LEFT JOIN LATERAL (
            SELECT x.task_id, x.client_string FROM client_string_change x
            WHERE x.task_id = e.task_id AND x.through_sequence >= e.sequence
            ORDER BY x.through_sequence LIMIT 1
        ) c ON true
        LEFT JOIN LATERAL (
            SELECT o.http_status, o.response_head FROM outcome o
            WHERE o.task_id = e.task_id
                AND e.kind IN ('task.download_finished', 'task.completed') LIMIT 1
        ) o ON true
        ORDER BY e.\(key)
        """
    }
}

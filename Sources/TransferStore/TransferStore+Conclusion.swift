import Foundation
import Postgres
package import TransferModel

extension TransferStore {
    /// Moves attempts whose part file is whole and durable past the point of no return.
    ///
    /// - Returns: the tasks whose publication of that fence now exists, also when an earlier call
    ///   with an unknown outcome made it; the part files of all others are to be removed.
    package func publish(_ publications: [Publication]) async throws(StoreError) -> Set<TaskID> {
        // In one order everywhere, as in a conclusion.
        let publications = publications.sorted { $0.task.uuid < $1.task.uuid }
        let tasks = publications.map(\.task.uuid)
        let fences = publications.map(\.fence.rawValue)
        let partFences = publications.map(\.partFence.rawValue)
        let results = publications.map(\.result)
        let rows = try await run([
            """
            WITH item AS (
                SELECT * FROM unnest(
                    \(tasks), \(fences), \(partFences),
                    \(results.map { Int16(clamping: $0.httpStatus) }),
                    \(results.map(\.bytesReceived)), \(results.map(\.contentType)),
                    \(results.map(\.etag)), \(results.map(\.isLengthVerified)),
                    \(results.map(\.suggestedFileName))
                ) AS i (task_id, fence, part_fence, http_status, bytes_received, content_type,
                    etag, is_length_verified, suggested_file_name)
            ),
            moved AS MATERIALIZED (
                SELECT i.*, a.worker, a.number, a.session_id, a.started_at, a.resumed_at_offset
                FROM item i CROSS JOIN LATERAL (\(Self.lockAttempt)) a
            ),
            gone AS (
                DELETE FROM attempt a WHERE a.task_id = ANY (ARRAY(SELECT m.task_id FROM moved m))
            )
            INSERT INTO publication (
                task_id, fence, part_fence, worker, number, session_id, http_status,
                bytes_received, content_type, etag, is_length_verified, started_at,
                resumed_at_offset, suggested_file_name)
            SELECT task_id, fence, part_fence, worker, number, session_id, http_status,
                bytes_received, content_type, etag, is_length_verified, started_at,
                resumed_at_offset, suggested_file_name
            FROM moved
            """,
            """
            SELECT p.task_id
            FROM unnest(\(tasks), \(fences)) AS i (task_id, fence) CROSS JOIN LATERAL (
                SELECT p.task_id FROM publication p
                WHERE p.task_id = i.task_id AND p.fence = i.fence LIMIT 1
            ) p
            """,
        ])
        return try decoding { () throws(PostgresError) in
            Set(try rows[1].map { row throws(PostgresError) in try row.task("task_id") })
        }
    }

    /// The attempt of an item `i`, if it has that fence.
    ///
    /// `LIMIT` makes this a look-up by key for each item, whatever the statistics of the table say,
    /// which are mostly those of an empty one.
    private static let lockAttempt: Query = """
        SELECT * FROM attempt a WHERE a.task_id = i.task_id AND a.fence = i.fence
        LIMIT 1 FOR UPDATE
        """

    /// Ends attempts and publications, writes their events and keeps the sessions' counters, in
    /// one statement for the whole batch.
    ///
    /// - Returns: the tasks that were concluded; the fence of every other was stale.
    package func conclude(_ conclusions: [Conclusion]) async throws(StoreError) -> Set<TaskID> {
        guard !conclusions.isEmpty else { return [] }
        let columns = try ConclusionColumns(conclusions)
        let query: Query = """
            WITH item AS (
                SELECT * FROM unnest(
                    \(columns.places), \(columns.tasks), \(columns.fences), \(columns.verdicts),
                    \(columns.bytesReceived), \(columns.bytesSent), \(columns.failures),
                    \(columns.delays), \(columns.abandoned)
                ) AS i (
                    place, task_id, fence, verdict, bytes_received, bytes_sent, failure, delay_ms,
                    abandoned)
            ),
            -- 1. Each row tells of its own end, matched by fence: a batch may hold a stale end of
            -- the same task.
            from_attempt AS MATERIALIZED (
                SELECT i.*, a.number, a.started_at, a.began_at, a.resumed_at_offset
                FROM item i CROSS JOIN LATERAL (\(Self.lockAttempt)) a
                WHERE i.verdict <> 'completed'
            ),
            attempt_gone AS (
                DELETE FROM attempt a
                WHERE a.task_id = ANY (ARRAY(SELECT e.task_id FROM from_attempt e))
            ),
            from_publication AS MATERIALIZED (
                SELECT i.place, i.task_id, i.fence, i.verdict, p.bytes_received, i.bytes_sent,
                    i.failure, i.delay_ms, i.abandoned, p.number, p.started_at,
                    p.started_at AS began_at, p.resumed_at_offset, p.http_status, p.content_type,
                    p.etag, p.is_length_verified, p.part_fence, p.suggested_file_name
                FROM item i CROSS JOIN LATERAL (
                    SELECT * FROM publication p WHERE p.task_id = i.task_id AND p.fence = i.fence
                    LIMIT 1 FOR UPDATE
                ) p
            ),
            publication_gone AS (
                DELETE FROM publication p
                WHERE p.task_id = ANY (ARRAY(SELECT e.task_id FROM from_publication e))
            ),
            gone AS (
                SELECT e.place, e.verdict, e.failure::jsonb AS failure, e.delay_ms, e.bytes_sent,
                    e.abandoned, t.id AS task_id, t.session_id, t.generation, t.lane,
                    t.priority_rank, e.fence, e.number AS attempt, e.bytes_received, e.started_at,
                    e.began_at, e.resumed_at_offset, e.part_fence, u.response_body,
                    coalesce(e.http_status, u.http_status) AS http_status,
                    coalesce(e.content_type, u.content_type) AS content_type,
                    coalesce(e.etag, u.etag) AS etag,
                    coalesce(e.is_length_verified, u.is_length_verified) AS is_length_verified,
                    e.suggested_file_name
                FROM (
                    SELECT *, NULL::smallint AS http_status, NULL AS content_type, NULL AS etag,
                        NULL::boolean AS is_length_verified, NULL::bigint AS part_fence,
                        NULL AS suggested_file_name
                    FROM from_attempt
                    UNION ALL SELECT * FROM from_publication
                ) e
                CROSS JOIN LATERAL (SELECT * FROM task t WHERE t.id = e.task_id LIMIT 1) t
                LEFT JOIN unnest(
                    \(columns.answers.map(\.place)), \(columns.answers.map(\.httpStatus)),
                    \(columns.answers.map(\.contentType)), \(columns.answers.map(\.etag)),
                    \(columns.answers.map(\.isLengthVerified)), \(columns.answers.map(\.body))
                ) AS u (place, http_status, content_type, etag, is_length_verified, response_body)
                    ON u.place = e.place
            ),
            outcome_row AS (
                INSERT INTO outcome (
                    task_id, session_id, generation, state, attempt, bytes_received, http_status,
                    content_type, etag, is_length_verified, suggested_file_name, failure,
                    bytes_sent, response_body)
                SELECT task_id, session_id, generation,
                    CASE verdict WHEN 'failed' THEN 'failed'::task_state ELSE 'completed' END,
                    attempt, bytes_received, http_status, content_type, etag,
                    CASE WHEN verdict <> 'failed' THEN is_length_verified END,
                    suggested_file_name, failure, bytes_sent, response_body
                FROM gone WHERE verdict IN ('completed', 'answered', 'failed')
            ),
            delayed_row AS (
                INSERT INTO delayed (
                    task_id, due_at, attempt, failure, lane, session_id, priority_rank, began_at,
                    awaits_host)
                SELECT task_id, clock_timestamp() + delay_ms * interval '1 ms',
                    attempt - (verdict = 'offline')::int, failure, lane, session_id,
                    priority_rank, began_at,
                    verdict = 'offline'
                FROM gone WHERE verdict IN ('retry', 'offline')
            ),
            asked_row AS (
                INSERT INTO asked (
                    task_id, session_id, question, attempt, began_at, until, failure, origin,
                    credential, attempted_at)
                SELECT g.task_id, g.session_id, 'authentication', g.attempt - 1, g.began_at,
                    clock_timestamp() + g.delay_ms * interval '1 ms', g.failure, q.origin,
                    q.credential, g.started_at
                FROM gone g JOIN unnest(
                    \(columns.questions.map(\.place)), \(columns.questions.map(\.origin)),
                    \(columns.questions.map(\.credential))
                ) AS q (place, origin, credential) USING (place)
                WHERE g.verdict = 'asks'
            ),
            ready_row AS (
                INSERT INTO ready (lane, session_id, priority_rank, task_id, attempt, began_at)
                SELECT lane, session_id, priority_rank, task_id,
                    attempt - (verdict = 'released')::int,
                    began_at
                FROM gone WHERE verdict IN ('released', 'requeued')
            ),
            log_row AS (
                INSERT INTO attempt_log (
                    task_id, fence, number, outcome, started_at, bytes_received,
                    resumed_at_offset, http_status, failure, redirects, name_lookup_us,
                    connect_us, tls_us, first_byte_us, total_us, is_connection_reused,
                    http_version, remote_address, fetch_start_us, request_start_us,
                    request_end_us, request_header_bytes, request_body_bytes,
                    response_header_bytes, response_body_bytes, remote_port, local_address,
                    local_port, bytes_sent, connections)
                SELECT g.task_id, g.fence, g.attempt, CASE g.verdict
                        WHEN 'retry' THEN 'retried' WHEN 'offline' THEN 'retried'
                        WHEN 'asks' THEN 'retried' WHEN 'requeued' THEN 'lost'
                        WHEN 'answered' THEN 'completed' ELSE g.verdict END,
                    g.started_at, greatest(0, g.bytes_received - coalesce(g.resumed_at_offset, 0)),
                    g.resumed_at_offset, coalesce(m.http_status, g.http_status), g.failure,
                    m.redirects, m.name_lookup_us, m.connect_us, m.tls_us, m.first_byte_us,
                    m.total_us, m.is_connection_reused, m.http_version, m.remote_address,
                    m.fetch_start_us, m.request_start_us, m.request_end_us,
                    m.request_header_bytes, m.request_body_bytes, m.response_header_bytes,
                    m.response_body_bytes, m.remote_port, m.local_address, m.local_port,
                    g.bytes_sent, m.connections
                FROM gone g JOIN unnest(
                    \(columns.places), \(columns.metrics.httpStatuses), \(columns.metrics.redirects),
                    \(columns.metrics.nameLookups), \(columns.metrics.connects),
                    \(columns.metrics.tlsHandshakes), \(columns.metrics.firstBytes),
                    \(columns.metrics.totals), \(columns.metrics.areReused),
                    \(columns.metrics.httpVersions), \(columns.metrics.remoteAddresses),
                    \(columns.metrics.fetchStarts), \(columns.metrics.requestStarts),
                    \(columns.metrics.requestEnds), \(columns.metrics.requestHeaderBytes),
                    \(columns.metrics.requestBodyBytes), \(columns.metrics.responseHeaderBytes),
                    \(columns.metrics.responseBodyBytes), \(columns.metrics.remotePorts),
                    \(columns.metrics.localAddresses), \(columns.metrics.localPorts),
                    \(columns.metrics.connections)
                ) AS m (
                    place, http_status, redirects, name_lookup_us, connect_us, tls_us, first_byte_us,
                    total_us, is_connection_reused, http_version, remote_address, fetch_start_us,
                    request_start_us, request_end_us, request_header_bytes, request_body_bytes,
                    response_header_bytes, response_body_bytes, remote_port, local_address,
                    local_port, connections)
                    USING (place)
            ),
            -- 2. What another attempt goes on with, and what no longer serves anybody.
            kept AS (
                SELECT g.task_id, k.part_fence, k.ranges::int8multirange AS ranges, k.boot_id,
                    k.bytes_durable, k.bytes_total, k.validator
                FROM unnest(
                    \(columns.partials.map(\.place)), \(columns.partials.map(\.partFence)),
                    \(columns.partials.map(\.ranges)), \(columns.partials.map(\.bootID)),
                    \(columns.partials.map(\.bytesDurable)),
                    \(columns.partials.map(\.bytesTotal)), \(columns.partials.map(\.validator))
                ) AS k (place, part_fence, ranges, boot_id, bytes_durable, bytes_total, validator)
                JOIN gone g USING (place)
                WHERE g.verdict IN ('retry', 'offline', 'asks', 'released')
            ),
            partial_row AS (\(Self.replacePartial)),
            partial_gone AS (
                DELETE FROM partial x
                WHERE x.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
                    AND (x.task_id IN (
                            SELECT g.task_id FROM gone g
                            WHERE g.verdict IN ('completed', 'answered', 'failed'))
                        OR x.part_fence IN (
                            SELECT g.abandoned FROM gone g WHERE g.abandoned IS NOT NULL))
                RETURNING x.task_id, x.part_fence, x.source_task_id
            ),
            abandoned_row AS (
                INSERT INTO abandoned_part (fence, task_id, source_task_id)
                SELECT x.part_fence, x.task_id, x.source_task_id
                FROM partial_gone x JOIN gone g USING (task_id)
                WHERE g.verdict <> 'completed' OR x.part_fence IS DISTINCT FROM g.part_fence
                UNION ALL
                SELECT g.abandoned, g.task_id, NULL FROM gone g WHERE g.abandoned IS NOT NULL
                UNION ALL \(Self.selectReplaced)
                ON CONFLICT (fence) DO NOTHING
            ),
            happening AS (
                SELECT session_id, place * 2 + k.step AS place, k.kind,
                    k.ends, task_id, k.task_state, attempt, bytes_received, failure
                FROM gone JOIN (VALUES
                    ('completed', 0, 'task.download_finished', false, 'running'::task_state),
                    ('completed', 1, 'task.completed', true, 'completed'),
                    ('answered', 1, 'task.completed', true, 'completed'),
                    ('failed', 1, 'task.failed', true, 'failed'),
                    ('retry', 1, 'task.waiting', false, 'waiting_for_retry'),
                    ('offline', 1, 'task.waiting', false, 'waiting_for_connectivity'),
                    ('asks', 1, 'task.authentication_required', false,
                        'waiting_for_authentication')
                ) AS k (verdict, step, kind, ends, task_state) USING (verdict)
            ),
            \(Self.recordHappenings),
            \(Self.wake)
            SELECT task_id FROM gone
            """
        // Looked at behind the first statement, which holds the sessions' locks: an answer is seen
        // here, or sees what was asked.
        let rows = try await run(
            columns.questions.isEmpty ? [query] : [query, Self.requeueAnswered(columns.tasks)]
        )[0]
        return try decoding { () throws(PostgresError) in
            Set(try rows.map { row throws(PostgresError) in try row.task("task_id") })
        }
    }
}

/// The conclusions turned on their side: an array per column, for `unnest`.
private struct ConclusionColumns {
    /// Where each was among what was given, from 1 on: the order of its events.
    var places: [Int64] = []
    var tasks: [UUID] = []
    var fences: [Int64] = []
    var verdicts: [String] = []
    var bytesReceived: [Int64] = []
    var failures: [String?] = []
    var delays: [Int64?] = []
    var abandoned: [Int64?] = []
    var metrics = MetricsColumns()
    var partials: [PartialColumns] = []
    var bytesSent: [Int64] = []
    var answers: [AnswerColumns] = []
    var questions: [QuestionColumns] = []

    init(_ conclusions: [Conclusion]) throws(StoreError) {
        // By task, as everybody locks them, so that nobody waits for one who waits for him.
        let sorted = conclusions.enumerated().sorted { $0.element.task.uuid < $1.element.task.uuid }
        for (index, conclusion) in sorted {
            let place = Int64(index + 1)
            places.append(place)
            tasks.append(conclusion.task.uuid)
            fences.append(conclusion.fence.rawValue)
            bytesReceived.append(conclusion.bytesReceived)
            bytesSent.append(conclusion.bytesSent)
            abandoned.append(conclusion.abandoned?.rawValue)
            metrics.append(conclusion.metrics)
            if let partial = conclusion.partial {
                partials.append(PartialColumns(partial, place: place))
            }
            switch conclusion.verdict {
            case .completed: try append("completed")
            case .answered(let result, let body):
                try append("answered")
                answers.append(AnswerColumns(result, body: body, place: place))
            case .failed(let failure): try append("failed", failure)
            case .retry(let failure, let delay): try append("retry", failure, delay)
            case .waitForConnectivity(let failure, let delay):
                try append("offline", failure, delay)
            case .askForCredential(let failure, let origin, let name, let time):
                try append("asks", failure, time)
                questions.append(
                    QuestionColumns(
                        place: place,
                        origin: origin.description,
                        credential: name
                    )
                )
            case .released: try append("released")
            case .requeued: try append("requeued")
            }
        }
    }

    private mutating func append(
        _ verdict: String,
        _ failure: TransferFailure? = nil,
        _ delay: Duration? = nil
    ) throws(StoreError) {
        verdicts.append(verdict)
        failures.append(
            try failure.map { failure throws(StoreError) in try StoredJSON.text(of: failure) }
        )
        delays.append(delay?.milliseconds)
    }
}

/// What the origin answered to an upload or data task; also a table of their own.
private struct AnswerColumns {
    let place: Int64
    let httpStatus: Int16
    let contentType: String?
    let etag: String?
    let isLengthVerified: Bool
    let body: [UInt8]?

    init(_ result: TransferResult, body: [UInt8], place: Int64) {
        self.place = place
        httpStatus = Int16(clamping: result.httpStatus)
        contentType = result.contentType
        etag = result.etag
        isLengthVerified = result.isLengthVerified
        self.body = body.isEmpty ? nil : body
    }
}

/// What an origin wants; few conclusions ask, so these are a table of their own.
private struct QuestionColumns {
    let place: Int64
    let origin: String
    let credential: String?
}

/// The part that a conclusion leaves; few have one, so these are a table of their own.
private struct PartialColumns {
    let place: Int64
    let partFence: Int64
    let ranges: String?
    let bootID: UUID
    let bytesDurable: Int64
    let bytesTotal: Int64
    let validator: String

    init(_ partial: PartialDownload, place: Int64) {
        self.place = place
        partFence = partial.partFence.rawValue
        ranges = partial.ranges?.text
        bootID = partial.bootID
        bytesDurable = partial.bytesDurable
        bytesTotal = partial.bytesTotal
        validator = partial.validator.value
    }
}

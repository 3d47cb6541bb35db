import Foundation
import Postgres
package import TransferModel

/// What became of a submission.
package enum SubmitResult: Sendable {
    case accepted(generation: Int64)
    case unknownSession
    /// The session ends with what is outstanding of it; nothing was stored.
    case sessionFinishing
    /// The session's client was force-quit and not launched since; nothing was stored.
    case clientForceQuit
    /// Some of the tasks are data tasks, and the session is none for them; nothing was stored.
    case dataNeedsEphemeralSession
    /// Some of the resume data named is not there, or no longer; nothing was stored.
    case unknownResumeData
    /// Too many tasks wait already, of all tenants together; nothing was stored.
    case queueFull
    /// The request was answered before; nothing was done now.
    case replay(IdempotencyRecord.Response)
    /// The idempotency key belongs to another request.
    case idempotencyMismatch
}

extension TransferStore {
    /// Tasks in one submission at most.
    package static let submissionMax = 1000

    /// Stores `submissions` in the tenant's session, in order, all or none.
    ///
    /// One statement: its row lock on the session's counters opens a new generation when the
    /// session was drained, numbers the events and shuts out an invalidation.
    package func submit(
        _ submissions: [TaskSubmission],
        tenant: TenantID,
        client: ClientID = .default,
        sessionIdentifier: String,
        idempotency: IdempotencyRecord? = nil
    ) async throws(StoreError) -> SubmitResult {
        precondition((1...Self.submissionMax).contains(submissions.count), "submission too large")
        let columns = try SubmissionColumns(submissions)
        let count = Int64(submissions.count)
        let rows = try await runOnce(
            """
            WITH target AS (
                SELECT id, options,
                    kind = 'ephemeral' OR \(!columns.kinds.contains("data")) AS is_fit
                FROM session
                WHERE tenant_id = \(tenant.uuid) AND client = \(client.name)
                    AND identifier = \(sessionIdentifier) COLLATE "C"
                    AND invalidated_at IS NULL
            ),
            -- Locked, so that of two submissions with the same resume data one finds nothing.
            token AS MATERIALIZED (
                SELECT id FROM resume_data
                WHERE id = ANY (\(columns.resumeData.map(\.id))) AND tenant_id = \(tenant.uuid)
                FOR UPDATE
            ),
            \(submissionBounds(tenant, count: count)),
            counter AS (
                UPDATE session_progress p SET
                    generation = p.generation + (p.outstanding = 0)::int,
                    outstanding = p.outstanding + \(count),
                    completed = CASE p.outstanding WHEN 0 THEN 0 ELSE p.completed END,
                    failed = CASE p.outstanding WHEN 0 THEN 0 ELSE p.failed END,
                    cancelled = CASE p.outstanding WHEN 0 THEN 0 ELSE p.cancelled END,
                    last_sequence = p.last_sequence + \(count)
                FROM target
                WHERE p.session_id = target.id AND NOT p.is_invalidated AND NOT p.is_finishing
                    AND NOT p.is_force_quit
                    AND target.is_fit
                    AND NOT (SELECT is_exceeded FROM quota) AND NOT (SELECT is_full FROM queue)
                    AND (SELECT count(*) FROM token) = \(Int64(columns.resumeData.count))
                RETURNING p.session_id, p.generation, p.last_sequence - \(count) AS base,
                    clock_timestamp() AS occurred_at
            ),
            item AS (
                SELECT i.*, CASE
                    WHEN NOT i.autostart OR i.upload_is_staged THEN 'suspended'::task_state
                    WHEN i.earliest_begin_at > now() THEN 'scheduled'::task_state
                    ELSE 'queued'::task_state END AS state
                FROM unnest(
                    \(columns.ids), \(columns.lanes), \(columns.ranks), \(columns.urls),
                    \(columns.headers), \(columns.clientStrings), \(columns.earliestBeginAt),
                    \(columns.autostart), \(columns.paths), \(columns.overwrites),
                    \(columns.options), \(columns.kinds), \(columns.methods),
                    \(columns.uploadPaths), \(columns.areStaged), \(columns.uploadData)
                ) WITH ORDINALITY AS i (
                    id, lane, priority_rank, url, headers, client_string, earliest_begin_at,
                    autostart, destination_path, destination_overwrite, options, kind, method,
                    upload_path, upload_is_staged, upload_data, place)
            ),
            task_row AS (
                INSERT INTO task (
                    id, session_id, tenant_id, generation, lane, priority_rank, url, headers,
                    client_string, earliest_begin_at, destination_path, destination_overwrite,
                    options, kind, method, upload_path, upload_is_staged, upload_data,
                    created_at)
                SELECT i.id, c.session_id, \(tenant.uuid), c.generation, i.lane, i.priority_rank,
                    i.url, i.headers::jsonb, i.client_string, i.earliest_begin_at,
                    i.destination_path, i.destination_overwrite, i.options::jsonb, i.kind, i.method,
                    i.upload_path, i.upload_is_staged, i.upload_data, now()
                FROM item i CROSS JOIN counter c
            ),
            held_row AS (
                INSERT INTO held (task_id, awaits_body, autostart)
                SELECT i.id, i.upload_is_staged, i.autostart FROM item i CROSS JOIN counter WHERE i.state = 'suspended'
            ),
            delayed_row AS (
                INSERT INTO delayed (
                    task_id, due_at, attempt, lane, session_id, priority_rank, asks_to_begin)
                SELECT i.id, i.earliest_begin_at, 0, i.lane, s.id, i.priority_rank,
                    \(Self.asksToBegin(task: "i.options::jsonb", session: "s.options"))
                FROM item i CROSS JOIN counter CROSS JOIN target s WHERE i.state = 'scheduled'
            ),
            ready_row AS (
                INSERT INTO ready (lane, session_id, priority_rank, task_id, attempt)
                SELECT i.lane, c.session_id, i.priority_rank, i.id, 0
                FROM item i CROSS JOIN counter c WHERE i.state = 'queued'
            ),
            used AS (
                DELETE FROM resume_data r USING counter
                WHERE r.id = ANY (\(columns.resumeData.map(\.id))) AND r.tenant_id = \(tenant.uuid)
                RETURNING r.*
            ),
            partial_row AS (
                INSERT INTO partial (
                    task_id, part_fence, source_task_id, ranges, boot_id, bytes_durable,
                    bytes_total, validator)
                SELECT k.task_id, u.part_fence, u.source_task_id, u.ranges, u.boot_id,
                    u.bytes_durable, u.bytes_total, u.validator
                FROM used u JOIN unnest(
                    \(columns.resumeData.map(\.id)), \(columns.resumeData.map(\.task))
                ) AS k (id, task_id) USING (id)
            ),
            event_row AS (
                INSERT INTO event (
                    session_id, sequence, kind, generation, occurred_at, task_id, task_state,
                    attempt, bytes_received)
                SELECT c.session_id, c.base + i.place, 'task.created', c.generation,
                    c.occurred_at, i.id, i.state, 0, 0
                FROM item i CROSS JOIN counter c
            ),
            \(Self.wake),
            \(Self.keepAnswer(idempotency, tenant: tenant))
            SELECT (SELECT generation FROM counter) AS generation,
                (SELECT is_fit FROM target) AS is_fit,
                (SELECT maximum FROM quota WHERE is_exceeded) AS quota_max,
                (SELECT is_full FROM queue) AS is_full
            """,
            keeping: idempotency
        )
        guard let rows else {
            return try await keptAnswer(idempotency, tenant: tenant).map { .replay($0) }
                ?? .idempotencyMismatch
        }
        let (generation, isFit, quotaMax, isFull) = try decoding { () throws(PostgresError) in
            let row = rows.first
            return (
                try row?.decodeIfPresent("generation", as: Int64.self),
                try row?.decodeIfPresent("is_fit", as: Bool.self),
                try row?.decodeIfPresent("quota_max", as: Int64.self),
                try row?.decodeIfPresent("is_full", as: Bool.self) ?? false
            )
        }
        if let generation { return .accepted(generation: generation) }
        if isFit ?? false, let quotaMax {
            throw .quotaExceeded(Quota(.outstandingTasks, maximum: quotaMax))
        }
        if isFit ?? false, isFull { return .queueFull }
        // What was refused may cost one statement more.
        let intake = try await intake(tenant, client, sessionIdentifier)
        return switch (intake, isFit) {
        case (.forceQuit, _): .clientForceQuit
        case (.finishing, _): .sessionFinishing
        case (_, false): .dataNeedsEphemeralSession
        case (.open, true) where !columns.resumeData.isEmpty: .unknownResumeData
        default: .unknownSession
        }
    }
}

/// The submissions turned on their side: an array per column, for `unnest`.
private struct SubmissionColumns {
    let ids: [UUID]
    let lanes: [Int64]
    let ranks: [Int16]
    let urls: [String]
    let headers: [String]
    let clientStrings: [[UInt8]?]
    let earliestBeginAt: [Date?]
    let autostart: [Bool]
    let paths: [String?]
    let overwrites: [Bool?]
    let options: [String?]
    let kinds: [String]
    let methods: [String?]
    let uploadPaths: [String?]
    let areStaged: [Bool]
    let uploadData: [[UInt8]?]
    let resumeData: [(id: UUID, task: UUID)]

    init(_ submissions: [TaskSubmission]) throws(StoreError) {
        ids = submissions.map(\.id.uuid)
        lanes = submissions.map(\.lane.key)
        ranks = submissions.map(\.priority.rank)
        urls = submissions.map(\.url)
        headers = try submissions.map { submission throws(StoreError) in
            try StoredJSON.text(of: submission.headers)
        }
        clientStrings = submissions.map { $0.clientString?.utf8 }
        earliestBeginAt = submissions.map(\.earliestBeginAt)
        autostart = submissions.map(\.autostart)
        paths = submissions.map { $0.destination?.path }
        overwrites = submissions.map { $0.destination?.overwrite }
        options = try submissions.map { submission throws(StoreError) in
            try StoredJSON.text(of: submission.options)
        }
        kinds = submissions.map(\.request.kind.rawValue)
        // What is usual is not stored.
        methods = submissions.map { submission in
            let request = submission.request
            return request.method == request.kind.methodDefault ? nil : request.method
        }
        uploadPaths = submissions.map { submission in
            if case .file(let path) = submission.request.upload { path } else { nil }
        }
        areStaged = submissions.map { $0.request.upload == .staged }
        uploadData = submissions.map { submission in
            if case .data(let bytes) = submission.request.upload { bytes } else { nil }
        }
        resumeData = submissions.compactMap { submission in
            submission.resumeData.map { (id: $0.uuid, task: submission.id.uuid) }
        }
    }
}

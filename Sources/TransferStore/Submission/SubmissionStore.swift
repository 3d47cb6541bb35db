import Postgres
package import TransferModel

/// The submission of tasks.
package struct SubmissionStore: Sendable {
    let database: Database
    /// The gatherer that all copies share.
    let gatherer: SubmissionGatherer

    package init(_ database: Database) {
        self.database = database
        gatherer = SubmissionGatherer(
            bounds: SubmissionGroupBounds(waitMax: database.settings.submissionWaitMax)
        )
    }
}

extension SubmissionStore {
    /// The maximum number of tasks in one submission.
    package static let submissionMax = 1000

    /// Stores `submissions` in the tenant's session, in order, all or none.
    ///
    /// Small requests that arrive together share a transaction; each is answered after its commit,
    /// and as if it had been alone (docs/decisions/0018).
    package func submit(
        _ submissions: [TaskSubmission],
        tenant: TenantID,
        client: ClientID = .default,
        sessionIdentifier: String,
        idempotency: IdempotencyRecord? = nil,
        lease: SubmissionLease? = nil
    ) async throws(StoreError) -> SubmitResult {
        precondition((1...Self.submissionMax).contains(submissions.count), "submission too large")
        let request = SubmissionRequest(
            submissions: submissions,
            session: SessionKey(tenant: tenant, client: client, identifier: sessionIdentifier),
            idempotency: idempotency,
            lease: lease
        )
        return gatherer.takes(request)
            ? try await gatherer.submit(request, to: self) : try await submitAlone(request)
    }

    /// The maximum number of tasks in a submission that shares a transaction.
    package static let groupedTasksMax = 100

    /// Stores one request, waiting if another transaction holds its session; the result says why it
    /// was refused.
    func submitAlone(_ request: SubmissionRequest) async throws(StoreError) -> SubmitResult {
        let tenant = request.session.tenant
        let batch = SessionBatch(session: request.session, requests: [request])
        let query = try submission(of: [batch], whenLocked: .wait)
        let rows = try await AuditSlot.withoutRecording { () throws(StoreError) in
            try await IdempotencyStore(database).runOnce(query, keeping: request.idempotency)
        }
        guard let rows else {
            return try await IdempotencyStore(database).keptAnswer(
                request.idempotency,
                tenant: tenant
            ).map { .replay($0) }
                ?? .idempotencyMismatch
        }
        let row = rows.first
        let accepted = try row.flatMap { row throws(StoreError) in try SubmitResult(stored: row) }
        let isFit = try row?.decodeIfPresent("is_fit", as: Bool.self)
        let quotaMax = try row?.decodeIfPresent("quota_max", as: Int64.self)
        let isFull = try row?.decodeIfPresent("is_full", as: Bool.self) ?? false
        if let accepted {
            batch.markRecorded()
            return accepted
        }
        if isFit ?? false, let quotaMax {
            throw .quotaExceeded(Quota(.outstandingTasks, maximum: quotaMax))
        }
        if isFit ?? false, isFull { return .queueFull }
        // A refused request may cost one more statement.
        let intake = try await intake(tenant, request.session.client, request.session.identifier)
        return switch (intake, isFit) {
        case (.forceQuit, _): .clientForceQuit
        case (.finishing, _): .sessionFinishing
        case (_, false): .dataNeedsEphemeralSession
        case (.open, true) where request.namesResumeData: .unknownResumeData
        default: .unknownSession
        }
    }

    /// Stores as many of `batches` as possible, all in one transaction.
    ///
    /// - Returns: the result of each batch that was stored, by its index.
    func submit(
        _ batches: [SessionBatch],
        whenLocked: LockedSession
    ) async throws(StoreError) -> [Int: SubmitResult] {
        let query = try submission(of: batches, whenLocked: whenLocked)
        let rows = try await AuditSlot.withoutRecording { () throws(StoreError) in
            try await database.run(query)
        }
        var results: [Int: SubmitResult] = [:]
        for row in rows {
            let batch = try row.decode("batch", as: Int64.self)
            results[Int(batch) - 1] = try SubmitResult(stored: row)
        }
        for index in results.keys { batches[index].markRecorded() }
        return results
    }

    /// Returns the state by which a session may have refused tasks; called only after a refusal.
    private func intake(
        _ tenant: TenantID,
        _ client: ClientID,
        _ identifier: String
    ) async throws(StoreError) -> SessionIntake {
        let rows = try await database.run(
            """
            SELECT p.is_force_quit, p.is_finishing
            FROM session s JOIN session_progress p ON p.session_id = s.id
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                AND s.identifier = \(identifier) COLLATE "C" AND s.invalidated_at IS NULL
            """
        )
        guard let row = rows.first else { return .absent }
        if try row.decode("is_force_quit") { return .forceQuit }
        return try row.decode("is_finishing") ? .finishing : .open
    }
}

extension SubmitResult {
    /// Creates the result of a stored batch from its row; nil of one that was refused.
    fileprivate init?(stored row: StoredRow) throws(StoreError) {
        guard let generation = try row.decodeIfPresent("generation", as: Int64.self) else {
            return nil
        }
        var signals: Set<Signal> = [.events]
        if try row.decode("is_any_runnable") { signals.insert(.work) }
        if try row.decode("is_any_due") { signals.insert(.deliveries) }
        self = .accepted(generation: generation, signals: signals)
    }
}

import HTTPTypes
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// The reason for an error answer; it becomes ``ProblemDetails`` when the request is answered.
struct Problem: Error, Sendable {
    let code: ProblemDetails.Code
    let detail: String?
    let errors: [FieldError]
    var headers: HTTPFields = [:]
    /// The sequence at which a client can continue that asked for events no longer kept.
    private(set) var oldestSequence: Int64?
    /// The quota that the tenant has used up.
    private(set) var quota: Quota?
    /// The shared limit of this instance that is exhausted now.
    private(set) var sharedLimit: SharedLimit?
    /// The number of the wrong line in a body of lines, from 1.
    private(set) var line: Int?
    /// The scope that the request's key needs and does not have.
    private(set) var scope: KeyScope?

    init(_ code: ProblemDetails.Code, _ detail: String? = nil, errors: [FieldError] = []) {
        self.code = code
        self.detail = detail
        self.errors = errors
        switch code {
        case .unauthorized: headers[.wwwAuthenticate] = "Bearer"
        case .unavailable, .idempotencyKeyInUse, .tooManyRequests, .taskInUse:
            headers[.retryAfter] = String(Self.retryAfterSeconds)
        case .queueFull: headers[.retryAfter] = String(Self.queueRetryAfterSeconds)
        case .tooManyReaders: headers[.retryAfter] = String(Self.readerRetryAfterSeconds)
        default: break
        }
    }

    /// The problem of a request that is understood but not valid, with everything that is wrong
    /// with it.
    init(_ errors: [FieldError]) {
        self.init(
            .validationFailed,
            errors.count == 1
                ? "One field is not valid." : "\(errors.count) fields are not valid.",
            errors: errors
        )
    }

    /// The problem of a request for events of which the first ones are no longer kept.
    init(eventsExpiredBefore oldest: Int64) {
        self.init(
            .eventsExpired,
            "The oldest event that is kept has the number \(oldest); ask without `after`."
        )
        oldestSequence = oldest
    }

    /// The problem of a request for events beyond the last one of a log.
    init(eventsEndAt newest: Int64, oldest: Int64) {
        self.init(
            .eventsExpired,
            """
            The last event here has the number \(newest): there was never the one that was named. \
            Ask without `after`.
            """
        )
        oldestSequence = oldest
    }

    /// The problem of a request for events after an event of another log.
    init(eventsOfAnotherLogBefore oldest: Int64) {
        self.init(
            .eventsExpired,
            """
            The place that was named is in other events, such as those of another session, or of \
            an earlier one with this identifier. Ask without `after`.
            """
        )
        oldestSequence = oldest
    }

    /// The problem of a request to an instance that does not offer the API yet.
    static let starting = Problem(
        .unavailable,
        "This instance has not started yet; it waits for its database or migrates it."
    )

    /// The problem of a request to an instance that does not offer the API.
    static let withoutAPI = Problem(
        .unavailable,
        "This instance does not answer clients; others do."
    )

    /// The problem of a submission while the disk of the private database has little space left.
    static let databaseNearlyFull = Problem(
        .unavailable,
        "The disk of the database is nearly full: no new tasks until there is space."
    )

    /// The problem of a request that exceeds a quota of the tenant.
    init(_ quota: Quota) {
        self.init(
            .quotaExceeded,
            """
            The limit `\(quota.limit.rawValue)` is \(quota.maximum). \(quota.limit.remedy)
            """
        )
        self.quota = quota
    }

    /// The problem of a request whose key has only `scopes`.
    init(needing scope: KeyScope, insteadOf scopes: Set<KeyScope>) {
        self.init(
            .insufficientScope,
            """
            The operation needs a key with the scope `\(scope.rawValue)`; this one has \
            \(scopes.names.map { "`\($0)`" }.joined(separator: ", ")).
            """
        )
        self.scope = scope
        // RFC 6750 §3.1.
        headers[.wwwAuthenticate] =
            #"Bearer error="insufficient_scope", scope="\#(scope.rawValue)""#
    }

    /// The problem of a request whose key is unknown, wrong, revoked or expired.
    static let invalidKey = Problem(.unauthorized, "The API key is not valid.")

    /// The problem of a request that needs more of a shared resource than is available now.
    init(exhausted limit: SharedLimit) {
        self.init(limit.code, limit.detail)
        sharedLimit = limit
    }

    /// Whether nothing more is read on the connection after the answer.
    ///
    /// The rest of a request without a good key, or of one that sends more than is accepted, would
    /// only be read and thrown away.
    var closesConnection: Bool {
        // A body for which there is no room.
        if quota?.limit == .storedBytes { return true }
        return switch sharedLimit {
        case .connections, .tenantConnections, .stagedBytes, .wrongKeys: true
        default: code == .unauthorized || code == .bodyTooLarge || code == .malformedRequest
        }
    }

    /// The seconds after which a client should retry when the database was unavailable.
    static let retryAfterSeconds = 1
    /// The seconds after which a client should retry when the maximum number of readers was
    /// reached.
    static let readerRetryAfterSeconds = 10
    /// The seconds after which a client should retry when a queue was full, which does not empty at
    /// once.
    static let queueRetryAfterSeconds = 30
}

extension Problem {
    /// Returns this problem as found in a line of the body.
    func inLine(_ number: Int) -> Problem {
        var problem = self
        problem.line = number
        return problem
    }

    /// The problem that a client is told for any error; a caller with a log records more.
    init(any error: any Error) {
        self =
            (error as? Problem) ?? (error as? StoreError).map(Problem.init)
            ?? MalformedRequest(error).map(Problem.init)
            ?? Problem(.internalError)
    }

    /// The problem of a request that is not HTTP to the letter.
    init(_ refusal: MalformedRequest) { self.init(.malformedRequest, refusal.detail) }

    /// The problem that a client is told for a failure of the store, never with its cause.
    init(_ error: StoreError) {
        switch error {
        case .unavailable:
            self.init(.unavailable, "The database does not answer now.")
        case .idempotencyKeyInUse:
            self.init(.idempotencyKeyInUse, "The first request with this key is not done yet.")
        case .forceQuitInProgress:
            self.init(.unavailable, "The force-quit of this client is still at work.")
        case .quotaExceeded(let quota): self.init(quota)
        case .defect:
            self.init(.internalError)
        }
    }

    /// The problem that a client is told when storage cannot be used now, at a place that no client
    /// has chosen.
    init(_ error: StorageError, in container: Container) {
        let failure = container.failure(of: error, isChosen: false)
        guard failure.code != .fileTooLarge else {
            self.init(.bodyTooLarge, failure.message)
            return
        }
        switch failure.shortage {
        case .storageFull: self.init(.storageFull)
        case .storageUnwritable: self.init(.storageUnwritable)
        case .descriptorsExhausted:
            self.init(.unavailable, "The service is out of descriptors.")
        case .memoryExhausted: self.init(.unavailable, "The service is out of memory or threads.")
        case .storageFailure, nil: self.init(.storageFailure)
        }
    }

    /// The problem that a client is told for a body that has no value.
    init(_ failure: WireDecoder.Failure) {
        switch failure {
        case .malformed(let detail): self.init(.malformedJSON, detail)
        case .invalid(let error): self.init([error])
        }
    }
}

extension ProblemDetails {
    /// The body of an answer that reports `problem`.
    init(_ problem: Problem, requestID: String) {
        self.init(
            problem.code,
            detail: problem.detail ?? problem.remedy,
            errors: problem.errors,
            oldestSequence: problem.oldestSequence,
            limit: problem.quota?.limit.rawValue ?? problem.sharedLimit?.rawValue,
            maximum: problem.quota?.maximum,
            line: problem.line,
            scope: problem.scope?.rawValue,
            requestID: requestID
        )
    }
}

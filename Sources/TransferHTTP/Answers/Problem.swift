import HTTPTypes
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// A request that gets an error answer; becomes ``ProblemDetails`` when it is answered.
struct Problem: Error, Sendable {
    let code: ProblemDetails.Code
    let detail: String?
    let errors: [FieldError]
    var headers: HTTPFields = [:]
    /// Where a client can go on that asked for events which are not kept any more.
    private(set) var oldestSequence: Int64?
    /// What the tenant has as much of as it may.
    private(set) var quota: Quota?
    /// What there is no more of now, of this instance's.
    private(set) var sharedLimit: SharedLimit?
    /// Which line of a body of lines is wrong, from 1.
    private(set) var line: Int?

    init(_ code: ProblemDetails.Code, _ detail: String? = nil, errors: [FieldError] = []) {
        self.code = code
        self.detail = detail
        self.errors = errors
        switch code {
        case .unauthorized: headers[.wwwAuthenticate] = "Bearer"
        case .unavailable, .idempotencyKeyInUse, .tooManyRequests:
            headers[.retryAfter] = String(Self.retryAfterSeconds)
        case .queueFull: headers[.retryAfter] = String(Self.queueRetryAfterSeconds)
        case .tooManyReaders: headers[.retryAfter] = String(Self.readerRetryAfterSeconds)
        default: break
        }
    }

    /// A request that is understood and not valid, with everything that is wrong with it.
    init(_ errors: [FieldError]) {
        self.init(
            .validationFailed,
            errors.count == 1
                ? "One field is not valid." : "\(errors.count) fields are not valid.",
            errors: errors
        )
    }

    /// A request for events of which the first ones are not kept any more.
    init(eventsExpiredBefore oldest: Int64) {
        self.init(
            .eventsExpired,
            "The oldest event that is kept has the sequence \(oldest); ask without `after`."
        )
        oldestSequence = oldest
    }

    /// A request for events beyond the last one of a log.
    init(eventsEndAt newest: Int64, oldest: Int64) {
        self.init(
            .eventsExpired,
            """
            The last event here has the sequence \(newest): there was never the one that was named. \
            Ask without `after`.
            """
        )
        oldestSequence = oldest
    }

    /// A request for events behind one of another log.
    init(eventsOfAnotherLogBefore oldest: Int64) {
        self.init(
            .eventsExpired,
            """
            The place that was named is in the events of another session, as of an earlier one with \
            this identifier. Ask without `after`.
            """
        )
        oldestSequence = oldest
    }

    /// A request to an instance that does not offer the API yet.
    static let starting = Problem(
        .unavailable,
        "This instance has not started yet; it waits for its database or migrates it."
    )

    /// A request to an instance that does not offer the API.
    static let withoutAPI = Problem(
        .unavailable,
        "This instance does not answer clients; others do."
    )

    /// A request for more than the tenant may have.
    init(_ quota: Quota) {
        self.init(
            .quotaExceeded,
            "The limit `\(quota.limit.rawValue)` of the tenant is \(quota.maximum)."
        )
        self.quota = quota
    }

    /// A request for more of something than there is now.
    init(exhausted limit: SharedLimit) {
        self.init(limit.code, limit.detail)
        sharedLimit = limit
    }

    /// Whether nothing more is read on the connection after the answer.
    ///
    /// Who has no key, or sends more than is taken, would have the rest read and thrown away.
    var closesConnection: Bool {
        switch sharedLimit {
        case .connections, .tenantConnections, .stagedBytes, .wrongKeys: true
        default: code == .unauthorized || code == .bodyTooLarge
        }
    }

    /// When a client that met an unavailable database should come back.
    static let retryAfterSeconds = 1
    /// When a client should come back that met as many readers as may be.
    static let readerRetryAfterSeconds = 10
    /// When one should that met a full queue, which does not empty at once.
    static let queueRetryAfterSeconds = 30
}

extension Problem {
    /// The same, found in a line of the body.
    func inLine(_ number: Int) -> Problem {
        var problem = self
        problem.line = number
        return problem
    }

    /// What a client is told of any error; whoever has a log tells it more.
    init(any error: any Error) {
        self =
            (error as? Problem) ?? (error as? StoreError).map(Problem.init)
            ?? Problem(.internalError)
    }

    /// What a client is told of a failure of the store: never its cause.
    init(_ error: StoreError) {
        switch error {
        case .unavailable:
            self.init(.unavailable, "The database does not answer now.")
        case .idempotencyKeyInUse:
            self.init(.idempotencyKeyInUse, "The first request with this key is not done yet.")
        case .quotaExceeded(let quota): self.init(quota)
        case .defect:
            self.init(.internalError)
        }
    }

    /// What a client is told of storage that cannot be used now, at a place that no client has
    /// chosen.
    init(_ error: StorageError, in container: Container) {
        switch container.failure(of: error, isChosen: false).shortage {
        case .storageFull: self.init(.storageFull)
        case .storageUnwritable: self.init(.storageUnwritable)
        case .descriptorsExhausted:
            self.init(.unavailable, "The service is out of descriptors.")
        case .memoryExhausted: self.init(.unavailable, "The service is out of memory or threads.")
        case .storageFailure, nil: self.init(.storageFailure)
        }
    }

    /// What a client is told of a body that has no value.
    init(_ failure: WireDecoder.Failure) {
        switch failure {
        case .malformed(let detail): self.init(.malformedJSON, detail)
        case .invalid(let error): self.init([error])
        }
    }
}

extension ProblemDetails {
    /// The body of an answer that tells of `problem`.
    init(_ problem: Problem, requestID: String) {
        self.init(
            problem.code,
            detail: problem.detail,
            errors: problem.errors,
            oldestSequence: problem.oldestSequence,
            limit: problem.quota?.limit.rawValue ?? problem.sharedLimit?.rawValue,
            maximum: problem.quota?.maximum,
            line: problem.line,
            requestID: requestID
        )
    }
}

/// An error answer: `application/problem+json` (RFC 9457).
public struct ProblemDetails: Equatable, Codable, Sendable {
    /// The URI of the problem type: ``typeBase`` and the code; compared by clients, not fetched.
    public let type: String
    /// The title of the code.
    public let title: String
    /// The status of the answer.
    public let status: Int
    /// A sentence about this request.
    public let detail: String?
    /// The stable code of the problem as text.
    public let codeName: String
    /// The faults of the request, at most ``errorsMax`` of them.
    public let errors: [FieldError]?
    /// The sequence of the oldest event that is kept, or of the next one when none is, for
    /// ``Code/eventsExpired``.
    public let oldestSequence: Int64?
    /// The name of what is limited, for ``Code/quotaExceeded``, ``Code/tooManyRequests`` and
    /// ``Code/unavailable``; for the first, the next property has the limit itself.
    public let limit: String?
    /// The limit, for ``Code/quotaExceeded``.
    public let maximum: Int64?
    /// The number of the wrong line in a body of lines, from 1.
    public let line: Int?
    /// The scope that the API key needs, for ``Code/insufficientScope``.
    public let scope: String?
    /// The value of the answer's `X-Request-Id`, to find the request in the log.
    public let requestID: String

    /// The common prefix of all problem types.
    public static let typeBase = "https://transferd.dev/problems/"
    /// The maximum number of faults that are listed.
    public static let errorsMax = 100

    /// Creates the value from its parts.
    public init(
        _ code: Code,
        detail: String?,
        errors: [FieldError] = [],
        oldestSequence: Int64? = nil,
        limit: String? = nil,
        maximum: Int64? = nil,
        line: Int? = nil,
        scope: String? = nil,
        requestID: String
    ) {
        self.type = Self.typeBase + code.rawValue
        self.title = code.title
        self.status = code.status
        self.detail = detail
        codeName = code.rawValue
        self.errors = errors.isEmpty ? nil : Array(errors.prefix(Self.errorsMax))
        self.oldestSequence = oldestSequence
        self.limit = limit
        self.maximum = maximum
        self.line = line
        self.scope = scope
        self.requestID = requestID
    }

    private enum CodingKeys: String, CodingKey {
        case type, title, status, detail, errors, limit, maximum, line, scope
        case codeName = "code"
        case oldestSequence = "oldest_sequence"
        case requestID = "request_id"
    }
}

extension ProblemDetails {
    /// The stable code of the problem; nil for one that is newer than this release, which
    /// ``codeName`` names.
    public var code: Code? { Code(rawValue: codeName) }

    /// The stable name of a problem; part of the API, never renamed.
    public enum Code: String, CaseIterable, Codable, Sendable {
        /// The request is not HTTP/1.1 to the letter; the connection is closed.
        case malformedRequest = "malformed_request"
        /// The body is no JSON text (RFC 8259), is nested too deeply or has too many values.
        case malformedJSON = "malformed_json"
        /// The body broke off, or does not have the announced length.
        case incompleteBody = "incomplete_body"
        /// The `Idempotency-Key` is neither a structured-field string nor a token.
        case invalidIdempotencyKey = "invalid_idempotency_key"
        /// The API key is missing, unknown, revoked or expired.
        case unauthorized
        /// The API key does not have the scope that the operation needs, which ``scope`` names.
        case insufficientScope = "insufficient_scope"
        /// The path names nothing.
        case unknownRoute = "unknown_route"
        /// The tenant has no client of that name; `PUT /v1/clients/{client}` creates it.
        case unknownClient = "unknown_client"
        /// The tenant has no assertion of that identifier, or has it no longer.
        case unknownAssertion = "unknown_assertion"
        /// The client has registered no handler of that identifier.
        case unknownHandler = "unknown_handler"
        /// The client has no pending request of that identifier.
        case unknownBackgroundTaskRequest = "unknown_background_task_request"
        /// The tenant has no run of that identifier.
        case unknownRun = "unknown_run"
        /// The client has no session of that identifier.
        case unknownSession = "unknown_session"
        /// The lease holds nothing, or no longer does.
        case unknownLease = "unknown_lease"
        /// The tenant has no task of that identifier.
        case unknownTask = "unknown_task"
        /// The tenant has no subscription of that identifier.
        case unknownSubscription = "unknown_subscription"
        /// The tenant has no credential of that name.
        case unknownCredential = "unknown_credential"
        /// The tenant has no API key of that identifier.
        case unknownKey = "unknown_key"
        /// The tenant has no logged delivery of that identifier.
        case unknownDelivery = "unknown_delivery"
        case unknownBulkOperation = "unknown_bulk_operation"
        /// No decision has been made about that host while the tenant had tasks there.
        case unknownHost = "unknown_host"
        /// The tenant has named no certificate authorities of its own.
        case noCertificateAuthorities = "no_certificate_authorities"
        /// The resource has no such method; `Allow` lists those it has.
        case methodNotAllowed = "method_not_allowed"
        /// No cancelled task left that resume data, or it has already been used.
        case unknownResumeData = "unknown_resume_data"
        /// The client has another kind, which never changes.
        case clientKindDiffers = "client_kind_differs"
        /// The client was force-quit; its sessions accept nothing new before its launch.
        case clientForceQuit = "client_force_quit"
        /// The client is being removed with all it owns.
        case clientRemoved = "client_removed"
        /// The client is the one that every tenant has.
        case clientNotRemovable = "client_not_removable"
        /// The client is not running; `launch` or `background` reports that it is.
        case clientNotRunning = "client_not_running"
        /// The client holds assertions, which have to end first.
        case assertionsHeld = "assertions_held"
        /// The identifier of the background task is not permitted, or has no handler
        /// (`BGTaskScheduler.Error.notPermitted`).
        case notPermitted = "not_permitted"
        /// The identifier has a handler already.
        case handlerRegistered = "handler_registered"
        /// The request for continued processing cannot run at once
        /// (`BGTaskScheduler.Error.immediateRunIneligible`).
        case immediateRunIneligible = "immediate_run_ineligible"
        /// The run has ended.
        case runEnded = "run_ended"
        /// The client has as many requests pending as it may
        /// (`BGTaskScheduler.Error.tooManyPendingTaskRequests`).
        case tooManyPendingTaskRequests = "too_many_pending_task_requests"
        /// The identifier belongs to something else already; choose another one.
        case identifierTaken = "identifier_taken"
        /// The session has another kind, which never changes.
        case sessionKindDiffers = "session_kind_differs"
        /// The session ends with what is outstanding, and accepts nothing new.
        case sessionFinishing = "session_finishing"
        /// The session has ended; its tasks can no longer be retried.
        case sessionEnded = "session_ended"
        /// The task waits for no bytes from its client.
        case bodyNotExpected = "body_not_expected"
        /// The bytes that a client brought for the upload are no longer kept.
        case bodyGone = "body_gone"
        /// Another request is currently sending the task's bytes.
        case bodyInUse = "body_in_use"
        /// The bytes do not begin where the last ones ended; `Upload-Offset` gives that position.
        case wrongOffset = "wrong_offset"
        /// The task is not waiting for such an answer from its client.
        case taskNotAsked = "task_not_asked"
        /// The task's request is running and must not be sent twice, so the task cannot be
        /// suspended.
        case requestInFlight = "request_in_flight"
        /// The task has ended and can no longer be changed.
        case taskEnded = "task_ended"
        /// The task has not ended, and so cannot be deleted; cancel it first.
        case taskNotEnded = "task_not_ended"
        /// A worker or another task still needs the bytes of the ended task; repeat the request.
        case taskInUse = "task_in_use"
        /// The task has no content yet, or never will.
        case taskNotCompleted = "task_not_completed"
        /// The maximum number of secrets already sign the subscription's messages.
        case tooManySecrets = "too_many_secrets"
        /// The key is the tenant's only good one with the scope `admin`.
        case lastAdminKey = "last_admin_key"
        /// No message waits for that acknowledgement token, or no longer does.
        case staleAckToken = "stale_ack_token"
        /// The first request with this `Idempotency-Key` is still being handled; repeat it later.
        case idempotencyKeyInUse = "idempotency_key_in_use"
        /// The task's file is no longer in the container.
        case contentGone = "content_gone"
        /// The task ended so long ago that it is no longer kept.
        case taskExpired = "task_expired"
        /// The events after the named one are no longer kept, or never existed; ``oldestSequence``
        /// is the first that is.
        case eventsExpired = "events_expired"
        /// The resource has been changed since the request's `If-Match` was read (412).
        case preconditionFailed = "precondition_failed"
        /// The body is longer than the service accepts.
        case bodyTooLarge = "body_too_large"
        /// The body is not declared as a type that the operation takes.
        case unsupportedMediaType = "unsupported_media_type"
        /// The requested range begins after the end of the content.
        case rangeNotSatisfiable = "range_not_satisfiable"
        /// The request was understood but is not valid; `errors` says where.
        case validationFailed = "validation_failed"
        /// The bytes do not match the digest.
        case digestMismatch = "digest_mismatch"
        /// The `Idempotency-Key` was used with another request.
        case idempotencyKeyReused = "idempotency_key_reused"
        /// The maximum number of requests of the tenant, or of the instance, already wait for
        /// events.
        case tooManyReaders = "too_many_readers"
        /// The tenant, or the address, already has its part of a shared resource, which ``limit``
        /// names.
        case tooManyRequests = "too_many_requests"
        /// The tenant has reached a quota, which ``limit`` names.
        case quotaExceeded = "quota_exceeded"
        /// The service failed; the log has the cause under the request's identifier.
        case internalError = "internal_error"
        /// The service has no key to seal secrets with.
        case credentialsNotConfigured = "credentials_not_configured"
        /// The container has no space left.
        case storageFull = "storage_full"
        /// The container as a whole cannot be written.
        case storageUnwritable = "storage_unwritable"
        /// The container's file system returns errors.
        case storageFailure = "storage_failure"
        /// Too many tasks of all tenants are already waiting; repeat the request after
        /// `Retry-After`.
        case queueFull = "queue_full"
        /// The service cannot answer now; repeat the request after `Retry-After`.
        case unavailable

        /// The status of every answer with this code.
        public var status: Int {
            switch self {
            case .malformedRequest, .malformedJSON, .incompleteBody, .invalidIdempotencyKey: 400
            case .unauthorized: 401
            case .insufficientScope, .notPermitted: 403
            case .unknownRoute, .unknownClient, .unknownAssertion, .unknownHandler,
                .unknownBackgroundTaskRequest, .unknownRun, .unknownSession, .unknownLease,
                .unknownTask,
                .unknownSubscription,
                .unknownCredential, .unknownKey, .unknownDelivery, .unknownBulkOperation,
                .unknownHost,
                .noCertificateAuthorities:
                404
            case .methodNotAllowed: 405
            case .clientKindDiffers, .clientForceQuit, .clientRemoved, .clientNotRemovable,
                .clientNotRunning, .assertionsHeld,
                .identifierTaken, .handlerRegistered, .immediateRunIneligible, .runEnded,
                .sessionKindDiffers, .sessionFinishing,
                .sessionEnded, .bodyGone, .taskNotCompleted,
                .taskNotAsked, .requestInFlight, .taskEnded,
                .taskNotEnded, .taskInUse,
                .bodyNotExpected, .bodyInUse, .wrongOffset, .unknownResumeData, .tooManySecrets,
                .lastAdminKey, .staleAckToken, .idempotencyKeyInUse:
                409
            case .contentGone, .taskExpired, .eventsExpired: 410
            case .preconditionFailed: 412
            case .bodyTooLarge: 413
            case .unsupportedMediaType: 415
            case .rangeNotSatisfiable: 416
            case .validationFailed, .digestMismatch, .idempotencyKeyReused: 422
            case .tooManyReaders, .tooManyRequests, .quotaExceeded, .tooManyPendingTaskRequests: 429
            case .internalError: 500
            case .credentialsNotConfigured: 501
            case .unavailable, .queueFull: 503
            case .storageFull, .storageUnwritable, .storageFailure: 507
            }
        }

        /// The title, a few words that are the same for every answer with this code.
        public var title: String {
            switch self {
            case .malformedRequest: "The request is not valid HTTP"
            case .malformedJSON: "The body is not valid JSON"
            case .incompleteBody: "The body is not complete"
            case .invalidIdempotencyKey: "The idempotency key is not valid"
            case .unauthorized: "A valid API key is required"
            case .insufficientScope: "The API key is not allowed to do this"
            case .unknownRoute: "There is nothing at this path"
            case .unknownClient: "There is no such client"
            case .unknownAssertion: "There is no such assertion"
            case .unknownHandler: "There is no such handler"
            case .unknownBackgroundTaskRequest: "There is no such pending request"
            case .unknownRun: "There is no such run"
            case .unknownSession: "There is no such session"
            case .unknownLease: "There is no such lease"
            case .unknownTask: "There is no such task"
            case .unknownSubscription: "There is no such subscription"
            case .unknownCredential: "There is no such credential"
            case .unknownKey: "There is no such API key"
            case .unknownDelivery: "There is no such delivery"
            case .unknownBulkOperation: "There is no such bulk operation"
            case .unknownHost: "Nothing was decided of that host"
            case .noCertificateAuthorities: "There are no certificate authorities"
            case .methodNotAllowed: "The method is not allowed here"
            case .unknownResumeData: "There is no such resume data"
            case .clientKindDiffers: "The client has another kind"
            case .clientForceQuit: "The client was force-quit"
            case .clientRemoved: "The client is being removed"
            case .clientNotRemovable: "The client is never removed"
            case .clientNotRunning: "The client is not running"
            case .assertionsHeld: "The client holds assertions"
            case .notPermitted: "The background task is not permitted"
            case .handlerRegistered: "The handler is registered already"
            case .immediateRunIneligible: "The background task cannot run at once"
            case .runEnded: "The run has ended"
            case .tooManyPendingTaskRequests: "Too many requests are pending"
            case .identifierTaken: "The identifier is taken"
            case .sessionKindDiffers: "The session has another kind"
            case .sessionFinishing: "The session is finishing"
            case .sessionEnded: "The session has ended"
            case .bodyGone: "The bytes of the upload are gone"
            case .bodyNotExpected: "The task waits for no bytes"
            case .bodyInUse: "The body is just being brought"
            case .wrongOffset: "The offset is not where the body ends"
            case .digestMismatch: "The body is not what its digest says"
            case .storageFull: "There is no space left"
            case .storageUnwritable: "The storage cannot be written"
            case .storageFailure: "The storage failed"
            case .taskNotAsked: "The task waits for no such answer"
            case .requestInFlight: "The request is running and must not be sent twice"
            case .taskEnded: "The task has ended"
            case .taskNotEnded: "The task has not ended"
            case .taskInUse: "The bytes of the task are in use"
            case .taskNotCompleted: "The task is not completed"
            case .tooManySecrets: "Too many secrets are in use"
            case .lastAdminKey: "The key is the last one that manages keys"
            case .staleAckToken: "No message waits for the token"
            case .idempotencyKeyInUse: "The idempotency key is in use"
            case .contentGone: "The content is gone"
            case .taskExpired: "The task is kept no longer"
            case .eventsExpired: "These events are not there"
            case .preconditionFailed: "The condition of the request is not met"
            case .bodyTooLarge: "The body is too large"
            case .unsupportedMediaType: "The media type is not supported"
            case .rangeNotSatisfiable: "The range cannot be satisfied"
            case .validationFailed: "The request is not valid"
            case .idempotencyKeyReused: "The idempotency key was used for another request"
            case .tooManyReaders: "Too many requests wait for events"
            case .tooManyRequests: "Too much is under way"
            case .quotaExceeded: "The tenant has as many as it may"
            case .queueFull: "The queue is full"
            case .internalError: "The service failed"
            case .credentialsNotConfigured: "The service keeps no credentials"
            case .unavailable: "The service is not available"
            }
        }
    }
}

public import TransferWire

/// The reason why a call, or a transfer, failed.
public struct TransferError: Error, Sendable {
    /// The name of a reason: a problem's or a failure's code as `openapi.yaml` lists it, or one of
    /// those that the client itself finds.
    ///
    /// More may be added; compare with those that matter and treat the others alike.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code as text.
        public let rawValue: String

        /// Names a code, also one that is newer than this release.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The service could not be reached, or its response broke off.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The service did not respond in time.
        public static let timedOut = Code(rawValue: "response_timed_out")
        /// The caller's task, or the transfer, was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The response is not what `openapi.yaml` says; something else may be at the address.
        public static let unexpectedResponse = Code(rawValue: "unexpected_response")
        /// The session was closed or has ended.
        public static let sessionClosed = Code(rawValue: "session_closed")
        /// A file of this machine could not be read or written.
        public static let fileFailure = Code(rawValue: "file_failure")
        /// A file of this machine is there already, and must not be replaced.
        public static let fileExists = Code(rawValue: "file_exists")
        /// A setting is missing or has no meaning.
        public static let misconfigured = Code(rawValue: "misconfigured")

        /// The code of a problem of the service.
        public static func problem(_ code: ProblemDetails.Code) -> Code {
            Code(rawValue: code.rawValue)
        }
    }

    /// The code.
    public let code: Code
    /// The reason as text for people; without URLs, headers or bodies.
    public let message: String
    /// What the service said; nil when it said nothing.
    public private(set) var problem: ProblemDetails?
    /// The failure of a task; nil when a call failed.
    public private(set) var failure: TaskDocument.Failure?
    /// The status of the response; nil when there was none, and for the failure of a task.
    public internal(set) var status: Int?
    /// The time after which the service asks for another request.
    public internal(set) var retryAfter: Duration?
    /// Whether the request is known not to have reached the service.
    var isUnsent = false
    /// Whether an earlier attempt of the same call may have done what it asks for, though its
    /// response was lost.
    var followsLostResponse = false

    /// The faults of the request, each with its JSON pointer or parameter.
    public var faults: [FieldError] { problem?.errors ?? [] }

    /// Describes a reason that the client found.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Describes a problem of the service.
    public init(_ problem: ProblemDetails, retryAfter: Duration? = nil) {
        code = Code(rawValue: problem.codeName)
        message = problem.detail ?? problem.title
        self.problem = problem
        self.retryAfter = retryAfter
    }

    /// Describes why a task failed.
    public init(_ failure: TaskDocument.Failure) {
        code = Code(rawValue: failure.code)
        message = failure.message
        self.failure = failure
    }

    init(_ failure: TransportFailure) {
        switch failure.kind {
        case .notConnected, .broken: code = .unreachable
        case .timedOut: code = .timedOut
        case .cancelled: code = .cancelled
        case .unreadable: code = .fileFailure
        case .unusable: code = .unexpectedResponse
        }
        message = failure.reason
        isUnsent = failure.kind == .notConnected
    }

    /// Describes whatever was thrown while a response was read.
    init(reading error: any Error) {
        switch error {
        case let error as TransferError: self = error
        case let failure as TransportFailure: self.init(failure)
        case is CancellationError: self.init(.cancelled, "The request was cancelled.")
        default: self.init(.unexpectedResponse, "The response cannot be read.")
        }
    }

    /// Returns this error with only the faults of one item of a batch, as if it were alone.
    func ofItem(_ faults: [FieldError]) -> TransferError {
        guard let problem, let code = problem.code else { return self }
        // Its text counts the faults of the whole batch.
        let isOfAll = faults.count == problem.errors?.count
        return TransferError(
            ProblemDetails(
                code,
                detail: isOfAll ? problem.detail : nil,
                errors: faults,
                requestID: problem.requestID
            )
        )
    }
}

extension TransferError: CustomStringConvertible {
    /// The code and the reason, and where the request is at fault.
    public var description: String {
        let places = faults.map { "\($0.pointer ?? $0.parameter ?? ""): \($0.detail)" }
        return "\(code.rawValue): \(message)" + places.map { " [\($0)]" }.joined()
    }
}

/// A task given to this worker to transfer.
package struct TaskClaim: Sendable {
    package let task: TaskID
    package let fence: Fence
    package let tenant: TenantID
    package let session: SessionID
    package let lane: Lane
    package let priority: TaskPriority
    /// Which attempt of the task this is, from 1.
    package let number: Int
    package let url: String
    package let request: TransferRequest
    /// The session's headers with the task's own on top.
    package var headers: [HTTPHeader]
    package let destination: Destination?
    package let timeoutForRequest: Duration
    package let timeoutForResource: Duration
    /// The session's options with the task's own on top.
    package let options: TransferOptions
    /// How much of `timeoutForResource` earlier attempts and waits have used up.
    package let elapsed: Duration
    /// What an earlier attempt left to go on with.
    package var partial: PartialDownload?
    /// What the tenant's tasks trust besides the system's or their own authorities.
    package let tenantAuthorities: CertificateAuthorities?
    /// What is shown to the task's own origin if that asks, and to no other.
    package var clientCertificate: ClientCertificate?
    /// Whether the task's session has credentials that its client gave in answer to challenges.
    package let sessionHasCredentials: Bool
    /// The credential that ``headers`` show, once it was looked up.
    package var shown: ShownCredential?
    /// How fast it may be, as of when it was claimed.
    package let limits: RateLimits
    /// Connections that its session may have to one host; nil for as many as the host allows.
    package let maxConnectionsPerHost: Int?

    package init(
        task: TaskID,
        fence: Fence,
        tenant: TenantID,
        session: SessionID,
        lane: Lane,
        priority: TaskPriority = .default,
        number: Int,
        url: String,
        request: TransferRequest = TransferRequest(),
        headers: [HTTPHeader],
        destination: Destination?,
        timeoutForRequest: Duration,
        timeoutForResource: Duration,
        options: TransferOptions = TransferOptions(),
        elapsed: Duration = .zero,
        partial: PartialDownload? = nil,
        tenantAuthorities: CertificateAuthorities? = nil,
        sessionHasCredentials: Bool = false,
        limits: RateLimits = RateLimits(),
        maxConnectionsPerHost: Int? = nil
    ) {
        self.task = task
        self.fence = fence
        self.tenant = tenant
        self.session = session
        self.lane = lane
        self.priority = priority
        self.number = number
        self.url = url
        self.request = request
        self.headers = headers
        self.destination = destination
        self.timeoutForRequest = timeoutForRequest
        self.timeoutForResource = timeoutForResource
        self.options = options
        self.elapsed = elapsed
        self.partial = partial
        self.tenantAuthorities = tenantAuthorities
        self.sessionHasCredentials = sessionHasCredentials
        self.limits = limits
        self.maxConnectionsPerHost = maxConnectionsPerHost
    }

    /// The queue that it was taken from.
    package var flow: Flow { Flow(lane: lane, session: session) }

    /// Whether a credential has to be looked up before the task begins.
    package var mayShowCredential: Bool { sessionHasCredentials || options.credential != nil }
}

/// Which state of a credential a request shows.
package struct ShownCredential: Equatable, Sendable {
    package let id: CredentialID
    package let version: Int64
    /// Whether another access token may be had, because this one was not obtained just now.
    package let isRenewable: Bool

    package init(id: CredentialID, version: Int64, isRenewable: Bool) {
        self.id = id
        self.version = version
        self.isRenewable = isRenewable
    }
}

/// A whole and durable part file that is to be given its destination as its name.
package struct Publication: Sendable {
    package let task: TaskID
    /// Guards the transition; changes when another worker takes the publication over.
    package let fence: Fence
    /// Names the part file; stays what it was when the file was written.
    package let partFence: Fence
    package let tenant: TenantID
    package let session: SessionID
    package let number: Int
    package let destination: Destination?
    package let result: TransferResult
    /// By which the file is known again under its destination; nil until it is durable.
    package var file: FileIdentity?
    /// Nil when the worker that transferred the file is gone.
    package let metrics: AttemptMetrics?
    /// Stored before the publication, unless it was already.
    package let resumption: Resumption?

    package init(
        task: TaskID,
        fence: Fence,
        partFence: Fence,
        tenant: TenantID,
        session: SessionID,
        number: Int,
        destination: Destination?,
        result: TransferResult,
        file: FileIdentity? = nil,
        metrics: AttemptMetrics? = nil,
        resumption: Resumption? = nil
    ) {
        self.task = task
        self.fence = fence
        self.file = file
        self.resumption = resumption
        self.partFence = partFence
        self.tenant = tenant
        self.session = session
        self.number = number
        self.destination = destination
        self.result = result
        self.metrics = metrics
    }
}

/// A part file that no living attempt will ever finish.
package struct AbandonedPart: Sendable {
    package let tenant: TenantID
    package let task: TaskID
    package let destination: Destination?
    /// Names the part file.
    package let fence: Fence
    /// Where it lies in the tenant's container, when not at the task's own place.
    package let sourcePath: String?

    package init(
        tenant: TenantID,
        task: TaskID,
        destination: Destination?,
        fence: Fence,
        sourcePath: String? = nil
    ) {
        self.tenant = tenant
        self.task = task
        self.destination = destination
        self.fence = fence
        self.sourcePath = sourcePath
    }
}

/// How an attempt ends.
package struct Conclusion: Sendable {
    package let task: TaskID
    package let fence: Fence
    package let verdict: Verdict
    /// Bytes of the file that are there; of a completed task its publication knows them.
    package let bytesReceived: Int64
    /// Bytes of an upload that were sent.
    package let bytesSent: Int64
    /// The part file that a later attempt may go on with, made durable.
    package var partial: PartialDownload?
    /// Names a part file that nobody may go on with.
    package var abandoned: Fence?
    package let metrics: AttemptMetrics?
    /// Stored before the conclusion, unless it was already.
    package let resumption: Resumption?

    package init(
        task: TaskID,
        fence: Fence,
        verdict: Verdict,
        bytesReceived: Int64 = 0,
        bytesSent: Int64 = 0,
        partial: PartialDownload? = nil,
        abandoned: Fence? = nil,
        metrics: AttemptMetrics? = nil,
        resumption: Resumption? = nil
    ) {
        self.task = task
        self.fence = fence
        self.resumption = resumption
        self.abandoned = abandoned
        self.verdict = verdict
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.partial = partial
        self.metrics = metrics
    }

    package enum Verdict: Equatable, Sendable {
        /// The publication's file is under its final name and durable.
        case completed
        /// The part file is whole and durable, and the result as it is.
        case fetched(TransferResult, part: Fence)
        /// The origin has answered an upload, of which the body may be the begin, or a data task.
        case answered(TransferResult, body: [UInt8])
        /// No further attempt will be made.
        case failed(TransferFailure)
        /// Another attempt follows after the delay.
        case retry(TransferFailure, after: Duration)
        /// The host cannot be reached; another attempt follows after the delay, or as soon as it is
        /// reached, and this one does not count.
        case waitForConnectivity(TransferFailure, after: Duration)
        /// This machine is short of something; another attempt follows after the delay, and this one
        /// does not count.
        case waitOut(TransferFailure, after: Duration)
        /// The origin wants a credential; another attempt follows the client's answer, which has to
        /// come within the time, and this one does not count. The named credential is the one that
        /// was not good.
        case askForCredential(TransferFailure, Origin, named: String?, within: Duration)
        /// Given back unharmed, as when the worker stops; the attempt does not count.
        case released
        /// Back to the queue because the worker died with it; the attempt counts.
        case requeued

        /// Whether the task is runnable again, for whichever worker has room.
        package var isBackInQueue: Bool {
            switch self {
            case .released, .requeued: true
            case .completed, .fetched, .answered, .failed, .retry, .waitForConnectivity,
                .waitOut, .askForCredential:
                false
            }
        }

        /// Whether another attempt goes on where this one ended.
        package var isFollowedByAnother: Bool {
            switch self {
            case .retry, .waitForConnectivity, .waitOut, .askForCredential, .released: true
            case .completed, .fetched, .answered, .failed, .requeued: false
            }
        }
    }
}

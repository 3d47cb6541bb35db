/// A task given to this worker to transfer.
package struct TaskClaim: Sendable {
    package let task: TaskID
    package let fence: Fence
    package let tenant: TenantID
    package let session: SessionID
    package let sessionKind: Session.Kind
    package let hostKey: HostKey
    package let priority: TaskPriority
    /// The number of this attempt of the task, from 1.
    package let number: Int
    /// The URL to transfer from or to; of a download with mirrors the one that is asked, once its
    /// place has been looked up.
    package var url: String
    package var request: TransferRequest
    /// The session's headers, overridden by the task's own.
    package var headers: [HTTPHeader]
    /// The file name that the client chose for the result; nil without one.
    package let destination: Destination?
    /// The longest time without a byte.
    package let timeoutForRequest: Duration
    /// The longest time for the task, over all its attempts.
    package let timeoutForResource: Duration
    /// The session's options, overridden by the task's own.
    package let options: TransferOptions
    /// The part of `timeoutForResource` that earlier attempts and waits have used up.
    package let elapsed: Duration
    /// The part file of an earlier attempt from which this one may continue.
    package var partial: PartialDownload?
    /// The authorities that the tenant's tasks trust besides the system's or their own.
    package let tenantAuthorities: CertificateAuthorities?
    /// Whether ``url``, ``headers`` and ``request`` are not what the client gave, because this
    /// service cannot open it; no request may be made of them.
    package var hasUnreadableSecrets = false
    /// Whether the tenant is one for tests, which may want the attempt to fail.
    package var isForTests = false
    /// The certificate shown to the task's own origin if that asks for one, and to no other.
    package var clientCertificate: ClientCertificate?
    /// Whether the task's session has credentials that its client supplied in answer to challenges.
    package let sessionHasCredentials: Bool
    /// Where the origin keeps what it has got of the upload, once it has been looked up; nil as
    /// long as it has named no resource.
    package var uploadResource: UploadResource?
    /// The result that is sent as a file, once it has been looked up; nil of all but such copies.
    package var copiedResult: TransferResult.Content?
    /// The way of a download through its mirrors, once its place has been looked up; nil without
    /// mirrors.
    package var tour: MirrorTour?
    /// Whether the part of the file may be from another of the task's URLs than ``url``.
    package var mayHaveOthersBytes = false
    /// Whether ``url`` has the origin of the task's own URL; secrets are for no other.
    package var isAtOrigin = true
    /// The credential that ``headers`` show, once it has been looked up.
    package var shown: ShownCredential?
    /// The attempt's rate limits at the time of the claim.
    package let limits: RateLimits
    /// The connections that the session may have to one host; nil for as many as the host allows.
    package let maxConnectionsPerHost: Int?

    package init(
        task: TaskID,
        fence: Fence,
        tenant: TenantID,
        session: SessionID,
        sessionKind: Session.Kind = .background,
        hostKey: HostKey,
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
        self.sessionKind = sessionKind
        self.hostKey = hostKey
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

    /// The queue that the task was taken from.
    package var flow: Flow { Flow(hostKey: hostKey, session: session) }

    /// How the upload continues where its origin has stopped; nil for none, and for other tasks.
    package var resumableUpload: ResumableUpload? {
        guard request.kind == .upload, let protocolOfOrigin = options.resumableUpload,
            protocolOfOrigin != .off
        else { return nil }
        return protocolOfOrigin
    }

    /// Whether a credential has to be looked up before the task starts.
    package var mayShowCredential: Bool {
        isAtOrigin && (sessionHasCredentials || options.credential != nil)
    }

    /// Whether ``url`` is that of a mirror.
    package var isAtMirror: Bool { tour.map { $0.place.rank > 0 } ?? false }

    /// Whether its place among mirrors has to be looked up before the task starts.
    package var hasMirrors: Bool { request.kind == .download && options.mirrors != nil }
}

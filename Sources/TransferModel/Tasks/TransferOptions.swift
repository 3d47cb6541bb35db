/// How a task is to be transferred, as far as its session or itself says; the rest are defaults.
package struct TransferOptions: Equatable, Sendable {
    /// Longest time without a byte.
    package var timeoutForRequest: Duration?
    /// Longest time for the task, over all attempts.
    package var timeoutForResource: Duration?
    /// Longest time from the request to the begin of its answer.
    package var timeoutForFirstByte: Duration?
    /// The most bytes in a second, either way.
    package var bytesPerSecondMax: Int64?
    /// The least time between two events that tell how far a task is; nil for none at all.
    package var progressInterval: Duration?
    /// Whether TLS 1.2 is refused too.
    package var requiresTLS13: Bool?
    /// What is trusted instead of the system's authorities.
    package var certificateAuthorities: CertificateAuthorities?
    /// Attempts, the first included.
    package var attemptsMax: Int?
    /// The wait after the first failure; doubled after each further one.
    package var retryDelayBase: Duration?
    /// The longest wait, also for a server's `Retry-After`.
    package var retryDelayMax: Duration?
    /// Whether an answer that is no success is delivered as the result, as URLSession does.
    package var deliversHTTPErrors: Bool?
    /// Whether a host that cannot be reached is waited for, as long as the task's time allows.
    package var waitsForConnectivity: Bool?
    /// Whether the client is asked before a task begins for which it has set a time.
    package var asksToBegin: Bool?
    /// The name of the credential that is shown to the task's origin.
    package var credential: String?
    /// Whether the client is asked for a credential when the origin wants another one; else the
    /// task fails.
    package var asksForCredential: Bool?
    /// Redirects followed by one attempt.
    package var redirectsMax: Int?
    /// The largest file, in bytes.
    package var sizeMax: Int64?
    /// The most connections that fetch one file together; 1 for one that fetches it from begin to
    /// end.
    package var segmentsMax: Int?
    /// The exact size of the file, in bytes; of a task only.
    package var expectedSize: Int64?
    /// Whether the origin may see the request twice, which its method tells unless said; of a task
    /// only.
    package var isIdempotent: Bool?
    /// What the file's checksums must be; of a task only.
    package var checksums: [Checksum] = []

    package static let attemptsRange = 1...100
    package static let retryDelaySeconds: ClosedRange<Double> = 0.1...86_400
    package static let redirectsRange = 0...10
    package static let segmentsRange = 1...16
    package static let bytesPerSecondRange: ClosedRange<Int64> = 1024...(1 << 40)
    package static let progressIntervalSeconds: ClosedRange<Double> = 1...3600

    package init() {}

    /// Nothing is said.
    package var isEmpty: Bool { self == TransferOptions() }

    /// These options, but for what `other` says.
    package func overridden(by other: TransferOptions) -> TransferOptions {
        var options = other
        options.timeoutForRequest = other.timeoutForRequest ?? timeoutForRequest
        options.timeoutForResource = other.timeoutForResource ?? timeoutForResource
        options.timeoutForFirstByte = other.timeoutForFirstByte ?? timeoutForFirstByte
        options.bytesPerSecondMax = other.bytesPerSecondMax ?? bytesPerSecondMax
        options.progressInterval = other.progressInterval ?? progressInterval
        options.requiresTLS13 = other.requiresTLS13 ?? requiresTLS13
        options.certificateAuthorities = other.certificateAuthorities ?? certificateAuthorities
        options.attemptsMax = other.attemptsMax ?? attemptsMax
        options.retryDelayBase = other.retryDelayBase ?? retryDelayBase
        options.retryDelayMax = other.retryDelayMax ?? retryDelayMax
        options.deliversHTTPErrors = other.deliversHTTPErrors ?? deliversHTTPErrors
        options.waitsForConnectivity = other.waitsForConnectivity ?? waitsForConnectivity
        options.asksToBegin = other.asksToBegin ?? asksToBegin
        options.credential = other.credential ?? credential
        options.asksForCredential = other.asksForCredential ?? asksForCredential
        options.redirectsMax = other.redirectsMax ?? redirectsMax
        options.sizeMax = other.sizeMax ?? sizeMax
        options.segmentsMax = other.segmentsMax ?? segmentsMax
        return options
    }
}

extension RetryPolicy {
    /// This policy, but for what `options` say.
    package func overridden(by options: TransferOptions) -> RetryPolicy {
        let base = options.retryDelayBase ?? delayBase
        return RetryPolicy(
            attemptsMax: options.attemptsMax ?? attemptsMax,
            delayBase: base,
            delayMax: max(base, options.retryDelayMax ?? delayMax)
        )
    }
}

/// A task's transfer options, as far as its session or the task sets them; the rest are defaults.
///
/// A new option is a field here and its declaration in ``all``.
package struct TransferOptions: Equatable, Sendable {
    /// The longest time without a byte.
    package var timeoutForRequest: Duration?
    /// The longest time for the task, over all attempts.
    package var timeoutForResource: Duration?
    /// The longest time from the request to the start of its answer.
    package var timeoutForFirstByte: Duration?
    /// The most bytes per second in either direction.
    package var bytesPerSecondMax: Int64?
    /// The least bytes per second of a body, in either direction.
    package var bytesPerSecondMin: Int64?
    /// The time over which a body must move as many.
    package var timeoutForLowSpeed: Duration?
    /// The least time between two events that report a task's progress; nil for no such events.
    package var progressInterval: Duration?
    /// Whether TLS 1.2 is refused too.
    package var requiresTLS13: Bool?
    /// The authorities trusted instead of the system's.
    package var certificateAuthorities: CertificateAuthorities?
    /// The most attempts, the first included.
    package var attemptsMax: Int?
    /// The wait after the first failure; doubled after each further one.
    package var retryDelayBase: Duration?
    /// The longest wait, also for a server's `Retry-After`.
    package var retryDelayMax: Duration?
    /// Whether an unsuccessful answer is delivered as the result, as URLSession does.
    package var deliversHTTPErrors: Bool?
    /// Whether the task waits for a host that cannot be reached, as long as the task's time allows.
    package var waitsForConnectivity: Bool?
    /// Whether the client is asked before a task starts for which it has set a time.
    package var asksToBegin: Bool?
    /// The name of the credential shown to the task's origin.
    package var credential: String?
    /// Whether the client is asked for a credential when the origin wants another one; otherwise
    /// the task fails.
    package var asksForCredential: Bool?
    /// Whether the origin is asked for a compressed body, which is stored decompressed.
    package var decompresses: Bool?
    /// The most redirects that one attempt follows.
    package var redirectsMax: Int?
    /// Whether cookies that an attempt is sent are returned in its later requests.
    package var keepsCookies: Bool?
    /// Whether a redirect to another origin that keeps the method takes the body there.
    package var sendsBodyToOtherOrigins: Bool?
    /// How an upload continues where its origin has stopped.
    package var resumableUpload: ResumableUpload?
    /// The largest file, in bytes.
    package var sizeMax: Int64?
    /// The most connections that fetch one file together; 1 to fetch it from start to end.
    package var segmentsMax: Int?
    /// The exact size of the file, in bytes; set for a task only.
    package var expectedSize: Int64?
    /// Whether the origin may see the request twice; set for a task only, and decided by the method
    /// unless set.
    package var isIdempotent: Bool?
    /// The required checksums of the file; set for a task only.
    package var checksums: [Checksum]?
    /// Further URLs of the file, the first to be asked first; set for a task only.
    package var mirrors: [String]?

    /// The allowed timeouts, in seconds.
    package static let timeoutSeconds: ClosedRange<Double> = 0.1...Double(365 * 24 * 3600)
    /// The allowed retry delays, in seconds.
    package static let retryDelaySeconds: ClosedRange<Double> = 0.1...86_400
    /// The allowed limits in bytes per second.
    package static let bytesPerSecondRange: ClosedRange<Int64> = 1024...(1 << 40)
    /// The most mirrors of a task.
    package static let mirrorsMax = 8

    /// All options, each declared once.
    package static let all: [TransferOption] = [
        .seconds("timeout_for_request", \.timeoutForRequest, timeoutSeconds),
        .seconds("timeout_for_resource", \.timeoutForResource, timeoutSeconds),
        .seconds("timeout_for_first_byte", \.timeoutForFirstByte, timeoutSeconds),
        .integer("bytes_per_second_max", \.bytesPerSecondMax, bytesPerSecondRange),
        .integer("bytes_per_second_min", \.bytesPerSecondMin, 1...(1 << 40)),
        .seconds("timeout_for_low_speed", \.timeoutForLowSpeed, 1...3600),
        .seconds("progress_interval", \.progressInterval, 1...3600),
        .integer("retry/attempts_max", \.attemptsMax, 1...100),
        .seconds("retry/delay_base", \.retryDelayBase, retryDelaySeconds),
        .seconds("retry/delay_max", \.retryDelayMax, retryDelaySeconds),
        .choice("http_errors", \.deliversHTTPErrors, ["fail": false, "deliver": true]),
        .flag("waits_for_connectivity", \.waitsForConnectivity),
        .flag("asks_to_begin", \.asksToBegin),
        .text(
            "credential",
            \.credential,
            Credential.nameRule,
            read: { Credential.isName($0) ? $0 : nil },
            write: \.self
        ),
        .flag("asks_for_credential", \.asksForCredential),
        .flag("decompresses", \.decompresses),
        .integer("redirects_max", \.redirectsMax, 0...10),
        .flag("keeps_cookies", \.keepsCookies),
        .flag("sends_body_to_other_origins", \.sendsBodyToOtherOrigins),
        .choice(
            "resumable_upload",
            \.resumableUpload,
            ["off": .off, "ietf": .ietf, "tus": .tus, "content_range": .contentRange]
        ),
        .integer("size_max", \.sizeMax, 0...Int64.max),
        .integer("segments_max", \.segmentsMax, 1...16),
        .choice("tls/minimum_version", \.requiresTLS13, ["1.2": false, "1.3": true]),
        .text(
            "tls/certificate_authorities",
            \.certificateAuthorities,
            CertificateAuthorities.rule,
            read: { CertificateAuthorities(pem: Array($0.utf8)) },
            write: { String(decoding: $0.pem, as: UTF8.self) }
        ),
        .integer("expected_size", \.expectedSize, 0...Int64.max).forTasksOnly(),
        .flag("idempotent", \.isIdempotent).forTasksOnly(),
        .checksums("checksums", \.checksums).forTasksOnly(),
        .list("mirrors", \.mirrors, 1...mirrorsMax).forTasksOnly(),
    ]

    /// The objects in the API that hold several options.
    package static let groups = Set(all.compactMap(\.group))

    package init() {}

    /// Returns these options with the defaults of tasks in a session of the kind: in background, a
    /// task waits for a host that cannot be reached, unless its attempts are limited.
    package func withDefaults(of kind: Session.Kind) -> TransferOptions {
        guard kind == .background, attemptsMax == nil, waitsForConnectivity == nil else {
            return self
        }
        var options = self
        options.waitsForConnectivity = true
        return options
    }

    /// Whether no option is set.
    package var isEmpty: Bool { self == TransferOptions() }

    /// Returns these options, overridden by those set in `other`.
    package func overridden(by other: TransferOptions) -> TransferOptions {
        guard !other.isEmpty else { return self }
        guard !isEmpty else { return other }
        var options = self
        for option in Self.all { option.override(&options, other) }
        return options
    }
}

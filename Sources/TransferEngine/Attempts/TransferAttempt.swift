import Curl
import TransferModel

/// A running attempt, in either direction.
///
/// What it tells and what it is told must not wait for the disk or for an origin: the threads that
/// call it also serve requests and send heartbeats.
protocol TransferAttempt: AnyObject, Sendable {
    var claim: TaskClaim { get }
    /// Its progress so far.
    var progress: AttemptStatus { get }
    /// The requests that it is making, which also hold it to its rates.
    var connections: Connections { get }
    /// Whether another attempt may do again what this one may have done.
    var mayBeRepeated: Bool { get }
    /// Makes its first request, and later all others, on a loop; called once.
    func begin(on loop: CurlLoop)
    /// Gives up one of its additional connections soon.
    func yieldConnection()
    /// Stops it from any thread; it then ends as abandoned, or with the outcome that came first.
    func abandon()
}

extension TransferAttempt {
    var mayBeRepeated: Bool { claim.isIdempotent }
}

extension TaskClaim {
    /// Whether the origin may see the request twice.
    var isIdempotent: Bool { options.isIdempotent ?? request.isIdempotent }

    /// Whether the resource of its upload has to be looked up before the task starts.
    ///
    /// One that must not be done twice may have a resource although its options ask for none by
    /// now.
    var mayHaveBegunUpload: Bool {
        resumableUpload != nil || request.kind == .upload && !isIdempotent
    }

    /// The cookies with which an attempt starts: none, or nil when it does not keep any.
    var cookies: CookieJar? { options.keepsCookies ?? false ? CookieJar() : nil }

    /// Returns what a failure of an attempt means when its request may have reached the origin.
    ///
    /// A request that must not be sent twice is sent again only when the origin has said that it
    /// did nothing: 425, 429 and 503 (RFC 8470 §5.2, RFC 6585 §4, RFC 9110 §15.6.4).
    ///
    /// Authorities that the task itself names stay as they are: no file is read in their place.
    func meaning(of failure: TransferFailure, mayHaveArrived: Bool) -> TransferFailure {
        if failure.code == .authoritiesUnusable, options.certificateAuthorities != nil {
            return failure.final
        }
        guard !isIdempotent, failure.isRetryable, mayHaveArrived else { return failure }
        if let status = failure.httpStatus {
            return [425, 429, 503].contains(status) ? failure : failure.final
        }
        return TransferFailure(
            .unknownOutcome,
            "\(failure.message) The server may have acted on the \(request.method) all the same."
        )
    }
}

extension TaskClaim {
    /// Returns whether a field of the request may be sent to another origin: a harmless one that
    /// does not show the credential.
    func isHarmless(_ field: HTTPHeader) -> Bool {
        field.isHarmless && field.name.lowercased() != shown?.field
    }
}

extension CurlRequest {
    /// Applies a claim's settings for repetition, timing and TLS (for speed, see ``Bandwidth``);
    /// `isAtOrigin` when the request goes to the task's own origin and not elsewhere by a redirect.
    mutating func apply(
        _ claim: TaskClaim,
        remaining: Duration,
        isAtOrigin: Bool,
        cookies: CookieJar?,
        userAgent: String
    ) {
        self.cookies = cookies
        decodesBody = claim.options.decompresses ?? false
        // What is stored is the file, and not a coding of it (RFC 9110 §12.5.3); a request whose
        // body is decoded offers codings by itself.
        let codings = decodesBody ? [] : [("accept-encoding", "identity")]
        for field in [("user-agent", userAgent)] + codings
        where !headers.contains(where: { $0.name.lowercased() == field.0 }) {
            headers.append(field)
        }
        isReplayable = claim.isIdempotent
        // An attempt after a wait for connectivity has the number of the one before.
        resolvesAnew = claim.number > 1 || claim.elapsed > .seconds(1)
        group = claim.tenant.uuid
        subgroup = claim.session.uuid
        inactivityTimeout = claim.timeoutForRequest
        totalTimeout = max(remaining, .milliseconds(1))
        firstByteTimeout = claim.options.timeoutForFirstByte
        speedLimit = claim.options.bytesPerSecondMin.map { bytes in
            SpeedLimit(
                bytesPerSecond: bytes,
                period: claim.options.timeoutForLowSpeed
                    ?? TransferOptions.timeoutForLowSpeedDefault
            )
        }
        tls.certificateAuthorities = claim.options.certificateAuthorities?.pem
        tls.furtherAuthorities = claim.tenantAuthorities?.pem
        if isAtOrigin, let own = claim.clientCertificate {
            tls.clientCertificate = .init(certificate: own.certificate, key: own.key)
        }
        tls.minimumVersion = claim.options.requiresTLS13 ?? false ? .v1_3 : .v1_2
    }
}

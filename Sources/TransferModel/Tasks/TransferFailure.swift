/// The failure of a task or of one of its attempts, stored with the outcome and shown to clients.
package struct TransferFailure: Error, Equatable, Sendable {
    /// The stable name of a cause; part of the API, never renamed.
    ///
    /// The codes are listed in `openapi.yaml`.
    package enum Code: String, CaseIterable, Sendable {
        /// The host's name has no address.
        case couldNotResolveHost = "could_not_resolve_host"
        /// No connection to the host could be made.
        case couldNotConnect = "could_not_connect"
        /// The proxy of this service could not be reached, or is none.
        case proxyUnreachable = "proxy_unreachable"
        /// The proxy of this service answered 407: it wants another credential of the operator.
        case proxyCredentialRefused = "proxy_credential_refused"
        /// The proxy of this service does not connect to the host.
        case proxyRefused = "proxy_refused"
        /// The address is in a network that this service may not reach.
        case egressDenied = "egress_denied"
        /// The server's certificate was not accepted, or TLS could not be agreed.
        case tlsFailure = "tls_failure"
        /// The certificate authorities that this service, the tenant or the task trusts cannot be
        /// read, or are none.
        case authoritiesUnusable = "authorities_unusable"
        /// No byte arrived for the inactivity timeout, or the whole took too long.
        case timedOut = "timed_out"
        /// The connection broke during the transfer, or the server refused further parts of the
        /// file.
        case connectionLost = "connection_lost"
        /// Fewer or more bytes arrived than the server announced.
        case lengthMismatch = "length_mismatch"
        /// The file has another size than the task expects.
        case sizeMismatch = "size_mismatch"
        /// The file has another checksum than the task or the server says.
        case checksumMismatch = "checksum_mismatch"
        /// The data that arrived is not an acceptable HTTP response.
        case badResponse = "bad_response"
        /// The server answered with a status other than 2xx.
        case httpStatus = "http_status"
        /// The server answered 407, as a proxy does that wants a credential of its own.
        case proxyAuthenticationRequired = "proxy_authentication_required"
        /// The credential is not there, its token endpoint refuses it, this service cannot read it,
        /// or the key of a client certificate does not belong to it.
        case credentialUnusable = "credential_unusable"
        /// More redirects than allowed, or one without a usable `Location`.
        case badRedirect = "bad_redirect"
        /// The task's URL cannot be fetched by this service.
        case unsupportedURL = "unsupported_url"
        /// The response is larger than the service's limit for one file.
        case fileTooLarge = "file_too_large"
        /// The response to a data task is too long to be kept with it.
        case responseTooLarge = "response_too_large"
        /// The destination exists and the task does not overwrite.
        case destinationCollision = "destination_collision"
        /// The destination cannot be written: a directory, a link, missing permissions or
        /// read-only.
        case destinationNotWritable = "destination_not_writable"
        /// The file of an upload does not exist, or is not a file.
        case sourceMissing = "source_missing"
        /// The file of an upload was changed while it was being sent.
        case sourceChanged = "source_changed"
        /// What another origin was to send for a copy did not arrive.
        case sourceUnavailable = "source_unavailable"
        /// The container's file system is full.
        case storageFull = "storage_full"
        /// The container's file system answered with an input/output error.
        case storageFailure = "storage_failure"
        /// The container as a whole cannot be written.
        case storageUnwritable = "storage_unwritable"
        /// This service had as many files and sockets open as it may have.
        case descriptorsExhausted = "descriptors_exhausted"
        /// This service was out of memory or threads.
        case memoryExhausted = "memory_exhausted"
        /// The origin may have acted on the request, which must not be sent twice.
        case unknownOutcome = "unknown_outcome"
        /// One worker after another died with the task, which got no further; it is not retried.
        case poison
        /// The task's client was force-quit; the task is cancelled, not failed.
        case userForceQuit = "user_force_quit"
    }

    /// The area at fault, for a first sorting: `network`, `http`, `storage` or `service`.
    package enum Domain: String, Sendable {
        case network, http, storage, service
    }

    /// The stable cause.
    package let code: Code
    /// One sentence for a person, without a URL, header or path outside the container.
    package let message: String
    /// The response's status; nil without a response.
    package let httpStatus: Int?
    /// The wait that the server asked for with `Retry-After`.
    package let retryAfter: Duration?
    /// Whether a retry was ruled out although the cause alone would allow it.
    package var isFinal = false
    /// Whether the failure says something about the host for all tasks: not when the task met a
    /// bound of its own or may not reach all addresses, or this service was short of something.
    package var isAboutHost = true
    /// The start of the body of an unsuccessful response, at most ``responseBodyBytesMax``.
    package var responseBody: [UInt8]?

    /// The ways of authentication that the origin of a 401 offers.
    package var challenges: [AuthenticationChallenge] = []

    /// The most bytes kept of a body: enough for a reason in JSON; pages for people are cut.
    package static let responseBodyBytesMax = 2048

    package init(
        _ code: Code,
        _ message: String,
        httpStatus: Int? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }

    /// Returns the failure of a task at whose destination there is a file already.
    package static func destinationCollision(at path: String) -> TransferFailure {
        TransferFailure(
            .destinationCollision,
            "The destination \(path) exists; submit with overwrite to replace it."
        )
    }

    /// The same failure, marked as not to be retried.
    package var final: TransferFailure {
        var failure = self
        failure.isFinal = true
        return failure
    }

    /// The area at fault, determined by the code.
    package var domain: Domain {
        switch code {
        case .couldNotResolveHost, .couldNotConnect, .proxyUnreachable, .proxyCredentialRefused,
            .proxyRefused, .egressDenied, .tlsFailure, .timedOut, .connectionLost, .lengthMismatch,
            .sourceUnavailable:
            .network
        case .sizeMismatch, .checksumMismatch, .badResponse, .httpStatus,
            .proxyAuthenticationRequired, .credentialUnusable, .badRedirect, .unsupportedURL,
            .responseTooLarge:
            .http
        case .fileTooLarge, .destinationCollision, .destinationNotWritable, .sourceMissing,
            .sourceChanged, .storageFull, .storageFailure, .storageUnwritable:
            .storage
        case .authoritiesUnusable, .descriptorsExhausted, .memoryExhausted, .unknownOutcome,
            .poison, .userForceQuit:
            .service
        }
    }

    /// Whether the same request may succeed later without anybody changing it.
    package var isRetryable: Bool {
        guard !isFinal else { return false }
        return switch code {
        case .couldNotResolveHost, .couldNotConnect, .proxyUnreachable, .proxyCredentialRefused,
            .timedOut, .connectionLost, .lengthMismatch, .checksumMismatch, .badResponse,
            .storageFull, .storageFailure, .storageUnwritable, .descriptorsExhausted,
            .memoryExhausted, .sourceUnavailable, .authoritiesUnusable:
            true
        case .httpStatus:
            // RFC 9110 §15 and RFC 4918 §11.3: request timeout, locked, too early, too many
            // requests, and server errors except "not implemented" and "version not supported",
            // which no repetition changes.
            switch httpStatus {
            case 408, 423, 425, 429: true
            case .some(501), .some(505): false
            case .some(500...599): true
            default: false
            }
        case .proxyRefused, .egressDenied, .tlsFailure, .sizeMismatch,
            .proxyAuthenticationRequired, .credentialUnusable, .badRedirect, .unsupportedURL,
            .fileTooLarge, .responseTooLarge, .destinationCollision, .destinationNotWritable,
            .sourceMissing, .sourceChanged, .unknownOutcome, .poison, .userForceQuit:
            false
        }
    }

    /// Whether there was no connection to the host, or to the proxy on the way to it.
    package var isWithoutConnection: Bool {
        switch code {
        case .couldNotConnect, .couldNotResolveHost, .proxyUnreachable, .proxyCredentialRefused:
            true
        default: false
        }
    }

    /// Whether a retryable failure passes without a change of the task or of what the origin
    /// offers: an outage or an overload of the origin, or of the way to it.
    package var passes: Bool {
        switch code {
        case .couldNotResolveHost, .couldNotConnect, .proxyUnreachable, .proxyCredentialRefused,
            .timedOut, .connectionLost, .lengthMismatch, .httpStatus, .sourceUnavailable:
            isRetryable
        default: false
        }
    }

    /// Whether the failure may be that of one URL, so that another one of the same file may serve.
    package var isAboutURL: Bool {
        switch code {
        case .couldNotResolveHost, .couldNotConnect, .proxyRefused, .egressDenied, .tlsFailure,
            .timedOut, .connectionLost, .lengthMismatch, .sizeMismatch, .checksumMismatch,
            .badResponse, .httpStatus, .proxyAuthenticationRequired, .badRedirect, .unsupportedURL,
            .fileTooLarge:
            true
        case .proxyUnreachable, .proxyCredentialRefused, .authoritiesUnusable, .credentialUnusable,
            .responseTooLarge, .destinationCollision, .destinationNotWritable, .sourceMissing,
            .sourceChanged, .sourceUnavailable, .storageFull, .storageFailure, .storageUnwritable,
            .descriptorsExhausted, .memoryExhausted, .unknownOutcome, .poison, .userForceQuit:
            false
        }
    }
}

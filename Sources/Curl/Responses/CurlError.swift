/// The failure of a transfer.
package struct CurlError: Error, Sendable {
    /// The timeouts of a request that can expire.
    package enum Timeout: String, Sendable, CaseIterable {
        /// ``CurlRequest/connectTimeout``.
        case connect
        /// ``CurlRequest/firstByteTimeout``.
        case firstByte
        /// ``CurlRequest/inactivityTimeout``.
        case inactivity
        /// ``CurlRequest/totalTimeout``.
        case total
        /// ``CurlRequest/speedLimit``.
        case lowSpeed
    }

    /// The kinds of failure a caller can tell apart.
    package enum Code: Sendable, Hashable {
        /// Not an absolute http or https URL, or one with user information: fix the request.
        case unsupportedURL
        /// A method, header or body that cannot be sent as asked: fix the request.
        case invalidRequest
        /// The name has no address, or no name server answered: try later.
        case couldNotResolve
        /// No address accepted the connection, or the proxy reached none: try later.
        case couldNotConnect
        /// The certificate or its name is not trusted: trying again does not help; see
        /// ``CurlSummary/certificateFault``.
        case tlsFailure
        /// The certificates that we are to trust cannot be read, or are none; nothing was sent: put
        /// back the file, or replace those of the request.
        case authoritiesUnusable
        /// Our own certificate or its key is malformed, or they do not belong together; nothing was
        /// sent: trying again does not help.
        case clientCertificateUnusable
        /// The proxy could not be reached, or is none: try later.
        case proxyUnreachable
        /// The proxy wants another credential: its operator has to change that.
        case proxyCredentialRefused
        /// The proxy's own rules forbid the host: trying again does not help.
        case proxyRefused
        /// The TLS handshake broke off: try later.
        case tlsHandshake
        /// Server and client cannot agree on TLS, as on a version or the client's certificate:
        /// trying again does not help.
        case tlsDisagreement
        /// A timeout expired: try later.
        case timedOut(Timeout)
        /// The connection broke, or ended before a response: try later.
        case connectionLost
        /// The server refused the request without having acted on it: try later.
        case requestRefused
        /// The body ended before its announced end: resume or start over.
        case truncated
        /// Not acceptable HTTP: garbage, too many headers, a contradictory length.
        case badResponse
        /// The body is longer than the limit of the request or fetch.
        case bodyTooLarge
        /// The egress guard allowed none of the addresses: trying again does not help.
        case egressDenied
        /// The body source could not be read or rewound: look at the source.
        case bodySourceFailed
        /// The sink asked to end the transfer.
        case aborted
        /// The transfer was cancelled or the loop stopped.
        case cancelled
        /// The loop already runs its maximum number of transfers: wait for one to end.
        case tooManyTransfers
        /// Memory ran out: try later, with less at once.
        case outOfMemory
        /// Descriptors ran out: try later, with less at once.
        case outOfDescriptors
        /// Any failure that libcurl does not describe better; see ``CurlError/curlCode``.
        case other
    }

    /// The kind of failure.
    package let code: Code
    /// libcurl's own number, or 0 when we found the failure.
    package let curlCode: Int32
    /// The summary of the transfer until the failure.
    package let summary: CurlSummary

    /// Creates an error.
    package init(_ code: Code, curlCode: Int32 = 0, summary: CurlSummary = CurlSummary()) {
        self.code = code
        self.curlCode = curlCode
        self.summary = summary
    }
}

extension CurlError: CustomStringConvertible {
    /// The name of the kind and libcurl's number, never the URL or a header.
    package var description: String {
        let name =
            switch code {
            case .timedOut(let timeout): "timedOut(\(timeout.rawValue))"
            default: "\(code)"
            }
        return curlCode == 0 ? name : "\(name) (curl \(curlCode))"
    }
}

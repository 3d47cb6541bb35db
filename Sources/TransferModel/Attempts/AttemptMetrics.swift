/// The measurements of an attempt's last request: `URLSessionTaskTransactionMetrics`.
///
/// Times count from the start of that request; a step that was not reached has zero.
package struct AttemptMetrics: Equatable, Sendable {
    /// The number of redirects followed before the request.
    package var redirects = 0
    /// The time from the start of the attempt to the start of the request.
    package var fetchStart: Duration = .zero
    /// The most connections that the attempt had at once.
    package var connections = 1
    /// The time at which the name was resolved.
    package var nameLookup: Duration = .zero
    /// The time at which the connection was made; zero on a reused connection.
    package var connect: Duration = .zero
    /// The time at which the TLS handshake ended; zero without TLS or on a reused connection.
    package var tls: Duration = .zero
    /// The time at which the connection was ready and sending the request began.
    package var requestStart: Duration = .zero
    /// The time at which the last byte of the request was given to the kernel.
    package var requestEnd: Duration = .zero
    /// The time at which the first byte of the response arrived.
    package var firstByte: Duration = .zero
    /// The time at which the request ended.
    package var total: Duration = .zero
    /// Whether the request used a connection that was already open.
    package var isConnectionReused = false
    /// The HTTP version, for example `1.1`; nil without a response.
    package var httpVersion: String?
    /// The origin's IP address; nil without a connection, as are the three properties below.
    package var remoteAddress: String?
    package var remotePort: Int?
    package var localAddress: String?
    package var localPort: Int?
    /// The bytes of the request's line and header fields; 0 where libcurl does not count them.
    package var requestHeaderBytes: Int64 = 0
    /// The bytes of the request's body.
    package var requestBodyBytes: Int64 = 0
    /// The bytes of all heads and trailers of the response.
    package var responseHeaderBytes: Int64 = 0
    /// The bytes of the response's body.
    package var responseBodyBytes: Int64 = 0
    /// The status of the last response; nil without one.
    package var httpStatus: Int?

    package init() {}
}

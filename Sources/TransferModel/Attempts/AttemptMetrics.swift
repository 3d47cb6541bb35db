/// What was measured of the last request of an attempt: `URLSessionTaskTransactionMetrics`.
///
/// Times count from the start of that request; zero for what was not reached.
package struct AttemptMetrics: Equatable, Sendable {
    /// Redirects that were followed before it.
    package var redirects = 0
    /// When it started, counted from the begin of the attempt.
    package var fetchStart: Duration = .zero
    /// The most connections that the attempt had at once.
    package var connections = 1
    /// The name was resolved.
    package var nameLookup: Duration = .zero
    /// The connection was made; zero on a kept connection.
    package var connect: Duration = .zero
    /// TLS was agreed on; zero without TLS or on a kept connection.
    package var tls: Duration = .zero
    /// The connection was ready, and the request began to be sent.
    package var requestStart: Duration = .zero
    /// The last byte of the request was given to the kernel.
    package var requestEnd: Duration = .zero
    /// The first byte of the response came.
    package var firstByte: Duration = .zero
    /// The request ended.
    package var total: Duration = .zero
    package var isConnectionReused = false
    /// For example `1.1`; nil without a response.
    package var httpVersion: String?
    /// The origin's IP address; nil without a connection, as those below.
    package var remoteAddress: String?
    package var remotePort: Int?
    package var localAddress: String?
    package var localPort: Int?
    /// Bytes of the request's line and header fields; 0 where libcurl does not count them.
    package var requestHeaderBytes: Int64 = 0
    package var requestBodyBytes: Int64 = 0
    /// Bytes of all heads and trailers of the response.
    package var responseHeaderBytes: Int64 = 0
    package var responseBodyBytes: Int64 = 0
    /// The status of the last response; nil without one.
    package var httpStatus: Int?

    package init() {}
}

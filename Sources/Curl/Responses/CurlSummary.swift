/// The amounts moved by a transfer, successful or not, and how long it took.
package struct CurlSummary: Sendable {
    /// Points in time since the start of the transfer; zero for those that were not reached.
    ///
    /// The first three are libcurl's (curl_easy_getinfo(3), "TIMES"), which adds them up when it
    /// sends a request a second time. The names of dates are URLSession's.
    package struct Timings: Sendable {
        /// The time when the name was resolved.
        package var nameLookup: Duration = .zero
        /// The time when the TCP connection was made; about zero on a kept connection.
        package var connect: Duration = .zero
        /// The time when the TLS handshake was done; zero without TLS and on a kept connection.
        package var tls: Duration = .zero
        /// The time when the connection was ready and the request started: `requestStartDate`.
        package var requestStart: Duration = .zero
        /// The time when the whole request was given to the kernel: `requestEndDate`.
        ///
        /// That is its head and, if there is one, the last byte of its body.
        package var requestEnd: Duration = .zero
        /// The time when the first line of the final response came: `responseStartDate`.
        package var firstByte: Duration = .zero
        /// The time when the transfer ended: `responseEndDate`.
        package var total: Duration = .zero
    }

    /// The number of body bytes given to the sink.
    package var bytesReceived: Int64 = 0
    /// The number of body bytes sent.
    package var bytesSent: Int64 = 0
    /// The number of bytes sent in request lines and header fields, repeated requests included.
    ///
    /// It is 0 where libcurl does not count them (8.7 and some after).
    package var requestHeaderBytes: Int64 = 0
    /// The number of bytes received in all heads and trailers, informational ones included.
    package var responseHeaderBytes: Int64 = 0
    /// The times at which the stages were reached.
    package var timings = Timings()
    /// The peer's IP address in text form, or nil when no connection was made.
    ///
    /// Through a proxy, it is the address to which the tunnel leads.
    package var primaryAddress: String?
    /// The peer's port, or nil when no connection was made.
    package var primaryPort: UInt16?
    /// Our own IP address of the connection in text form, or nil when none was made.
    package var localAddress: String?
    /// Our own port of the connection, or nil when none was made.
    package var localPort: UInt16?
    /// The HTTP version of the response, for example `1.1`, or nil before there was one.
    package var httpVersion: String?
    /// Whether the egress guard has denied an address of the host; a failure to connect to the
    /// others then does not mean that the host cannot be reached.
    package var isAddressDenied = false
    /// Why the server's certificate was not accepted; nil if it was, or for another reason.
    package var certificateFault: CertificateFault?
    /// Whether the request went over a connection kept from an earlier transfer.
    package var isConnectionReused = false
    /// The cookies after the transfer; nil when the request kept none.
    package var cookies: CookieJar?
    /// Whether the end of the body was framed; false when it simply ended with the connection, and
    /// when it was decoded, because a coded stream may end early within its frame.
    package var isLengthVerified = false

    /// Creates the summary of a transfer that has not started.
    package init() {}
}

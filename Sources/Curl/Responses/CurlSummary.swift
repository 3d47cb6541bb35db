/// What a transfer, ended well or not, has moved and how long it took.
package struct CurlSummary: Sendable {
    /// Points in time since the start of the transfer; zero for what was not reached.
    ///
    /// The first three are libcurl's (curl_easy_getinfo(3), "TIMES"), which adds them up when it
    /// sends a request a second time. The names of dates are URLSession's.
    package struct Timings: Sendable {
        /// The name was resolved.
        package var nameLookup: Duration = .zero
        /// The TCP connection was made; on a kept connection about zero.
        package var connect: Duration = .zero
        /// The TLS handshake was done; zero without TLS and on a kept connection.
        package var tls: Duration = .zero
        /// The connection was ready and the request began: `requestStartDate`.
        package var requestStart: Duration = .zero
        /// The request's head and, if there is one, the last byte of its body was given to the
        /// kernel: `requestEndDate`.
        package var requestEnd: Duration = .zero
        /// The first line of the final response came: `responseStartDate`.
        package var firstByte: Duration = .zero
        /// The transfer ended: `responseEndDate`.
        package var total: Duration = .zero
    }

    /// Body bytes given to the sink.
    package var bytesReceived: Int64 = 0
    /// Body bytes sent.
    package var bytesSent: Int64 = 0
    /// Bytes of the request line and header fields sent, of repeated requests as well; 0 where
    /// libcurl does not count them (8.7 and some after).
    package var requestHeaderBytes: Int64 = 0
    /// Bytes of all heads and trailers received, informational ones as well.
    package var responseHeaderBytes: Int64 = 0
    /// When what was reached.
    package var timings = Timings()
    /// The peer's IP address in text form, or nil when no connection was made.
    package var primaryAddress: String?
    /// The peer's port, or nil when no connection was made.
    package var primaryPort: UInt16?
    /// Our own IP address of the connection in text form, or nil when none was made.
    package var localAddress: String?
    /// Our own port of the connection, or nil when none was made.
    package var localPort: UInt16?
    /// The version of the response, for example `1.1`, or nil before there was one.
    package var httpVersion: String?
    /// Whether the request went over a connection kept from an earlier transfer.
    package var isConnectionReused = false
    /// Whether the end of the body was framed; false when it simply ended with the connection.
    package var isLengthVerified = false

    /// The summary of a transfer that has not begun.
    package init() {}
}

/// What a transfer, ended well or not, has moved and how long it took.
package struct CurlSummary: Sendable {
    /// Points in time since the start of the transfer; zero for what was not reached.
    package struct Timings: Sendable {
        /// The name was resolved.
        package var nameLookup: Duration = .zero
        /// The connection was made; zero on a kept connection.
        package var connect: Duration = .zero
        /// The TLS handshake was done.
        package var tls: Duration = .zero
        /// The first byte of the response came.
        package var firstByte: Duration = .zero
        /// The transfer ended.
        package var total: Duration = .zero
    }

    /// Body bytes given to the sink.
    package var bytesReceived: Int64 = 0
    /// Body bytes sent.
    package var bytesSent: Int64 = 0
    /// When what was reached.
    package var timings = Timings()
    /// The peer's IP address in text form, or nil when no connection was made.
    package var primaryAddress: String?
    /// The version of the response, for example `1.1`, or nil before there was one.
    package var httpVersion: String?
    /// Whether the request went over a connection kept from an earlier transfer.
    package var isConnectionReused = false
    /// Whether the end of the body was framed; false when it simply ended with the connection.
    package var isLengthVerified = false

    /// The summary of a transfer that has not begun.
    package init() {}
}

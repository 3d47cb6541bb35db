package import Foundation

/// What one transfer asks of an origin, and the bounds it has to keep.
package struct CurlRequest: Sendable {
    /// Which HTTP versions a transfer may use.
    package enum HTTPVersion: Sendable {
        /// HTTP/1.1 only: libcurl before 8.2 may take a cut HTTP/2 body for a whole one.
        case http1
        /// HTTP/2 where the origin offers it over TLS, else HTTP/1.1.
        ///
        /// For small bodies only unless ``CurlLibrary/isHTTP2Sound``: older versions may also
        /// hang when a stream is paused, so that a request with a rate uses HTTP/1.1 there.
        case negotiated
    }

    /// An absolute `http` or `https` URL without user information; see ``CurlURL``.
    package var url: String
    /// The request method, sent as it is spelled; `HEAD` expects no body.
    package var method: String
    /// Header lines in order; names are tokens, values have no control characters or outer blanks.
    package var headers: [(name: String, value: String)]
    /// The bytes to send, or nil; a `POST`, `PUT` or `PATCH` without any says `Content-Length: 0`.
    package var body: [UInt8]?
    /// Bytes to send that are too many for memory; excludes ``body``.
    package var bodySource: (any CurlBodySource)?
    /// The longest time for resolving, connecting and the TLS handshake together.
    package var connectTimeout: Duration = Self.connectTimeoutDefault
    /// The longest time until the first line of the final response, or nil for any.
    ///
    /// Counted from the end of connecting or, with a body, from its last byte given to the
    /// kernel; on a kept connection from the request. Informational responses do not count.
    package var firstByteTimeout: Duration?
    /// The longest time without a byte in either direction, counted from the start.
    ///
    /// Pauses that a rate demands do not count.
    package var inactivityTimeout: Duration = Self.inactivityTimeoutDefault
    /// The longest time for the whole transfer, or nil for any.
    package var totalTimeout: Duration?
    /// The most bytes of all response headers together: informational, final and trailers.
    package var headerBytesMax = Self.headerBytesMaxDefault
    /// The most lines of all response headers together.
    package var headerLinesMax = Self.headerLinesMaxDefault
    /// The most body bytes; a longer announced or real body fails with `bodyTooLarge`.
    package var bodyBytesMax = Int64.max
    /// The most body bytes to receive per second, above zero, or nil for any.
    ///
    /// Kept on average: bytes come in pieces of up to 16 KiB and pauses of some milliseconds. See
    /// ``CurlTransfer/limit(receiveRate:sendRate:)``.
    package var receiveRateMax: Int64?
    /// The most body bytes to send per second, above zero, or nil for any; as for receiving.
    package var sendRateMax: Int64?
    /// Rates that the transfer keeps together with others, besides its own.
    package var sharedRates: [SharedRate] = []
    /// What to ask of TLS; without effect on `http` URLs.
    package var tls = TLSSettings()
    /// The versions to offer.
    package var httpVersion = HTTPVersion.http1
    /// Whether an origin may see the request twice.
    ///
    /// libcurl sends it again on a new connection when a kept one turns out to be dead; without
    /// this leave each request has a connection of its own.
    package var isReplayable: Bool
    /// Whether to ask for the host's addresses anew instead of taking those of the last minute.
    ///
    /// For a request that follows one that failed: what was known may be why.
    package var resolvesAnew = false
    /// Whose names take turns with those of others, such as a tenant; those without one share turns.
    package var nameGroup: UUID?
    /// Decides which addresses the transfer may reach.
    package var egress: EgressGuard
    /// Whether the transfer may still open a connection or send its request; else it is cancelled.
    ///
    /// Asked on the loop's thread, before each connection and each time that the request is sent:
    /// also when libcurl repeats it by itself.
    package var mayBegin: @Sendable () -> Bool = { true }

    /// Ten seconds, as URL clients commonly allow.
    package static let connectTimeoutDefault: Duration = .seconds(10)
    /// URLSession's `timeoutIntervalForRequest`.
    package static let inactivityTimeoutDefault: Duration = .seconds(60)
    /// Well above what real origins send, well below what hurts.
    package static let headerBytesMaxDefault = 64 * 1024
    /// As for the bytes: real responses have some dozens.
    package static let headerLinesMaxDefault = 200

    /// Describes a request; the bounds start at their defaults.
    ///
    /// ``isReplayable`` starts as true for the idempotent methods of RFC 9110, section 9.2.2.
    package init(
        url: String,
        method: String = "GET",
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        egress: EgressGuard
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.egress = egress
        isReplayable = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }
}

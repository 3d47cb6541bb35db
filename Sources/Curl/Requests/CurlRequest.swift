package import Foundation

/// A transfer's request to an origin, and the limits that it has to keep.
package struct CurlRequest: Sendable {
    /// The HTTP versions that a transfer may use.
    package enum HTTPVersion: Sendable {
        /// HTTP/1.1 only: libcurl before 8.2 may accept a truncated HTTP/2 body as complete.
        case http1
        /// HTTP/2 if the origin offers it over TLS, otherwise HTTP/1.1.
        ///
        /// Only for requests whose response's body decides nothing, unless
        /// ``CurlLibrary/isHTTP2Sound``: older versions may also hang when a stream is paused, so
        /// that a request with a rate uses HTTP/1.1 there.
        case negotiated
    }

    /// The URL, or why it is none; ``CurlLoop`` refuses such a request.
    let url: Result<CurlURL, CurlError>
    /// The request method, sent as it is spelled; `HEAD` expects no body.
    package var method: String
    /// Header lines in order; names are tokens, values have no control characters or outer blanks.
    package var headers: [(name: String, value: String)]
    /// The body, or nil; a `POST`, `PUT` or `PATCH` without one sends `Content-Length: 0`.
    package var body: [UInt8]?
    /// The source of a body that is too large for memory; excludes ``body``.
    package var bodySource: (any CurlBodySource)?
    /// The longest time for the name lookup, connecting and the TLS handshake together.
    package var connectTimeout: Duration = Self.connectTimeoutDefault
    /// The longest time until the first line of the final response, or nil for no limit.
    ///
    /// Counted from the end of connecting or, with a body, from the time its last byte was given to
    /// the kernel; on a kept connection from the request. Informational responses do not count.
    package var firstByteTimeout: Duration?
    /// The longest time without a byte in either direction, counted from the start.
    ///
    /// Pauses that a rate demands do not count.
    package var inactivityTimeout: Duration = Self.inactivityTimeoutDefault
    /// The slowest that a body may move, in either direction, or nil for no limit.
    package var speedLimit: SpeedLimit?
    /// The longest time for the whole transfer, or nil for no limit.
    package var totalTimeout: Duration?
    /// The maximum size in bytes of the final response's head and trailers together, and of each
    /// informational head; all of these together are bounded besides.
    package var headerBytesMax = Self.headerBytesMaxDefault
    /// The maximum number of lines, counted as ``headerBytesMax``.
    package var headerLinesMax = Self.headerLinesMaxDefault
    /// The maximum size of the body in bytes; a longer announced or real one is `bodyTooLarge`,
    /// unless the sink drops it.
    package var bodyBytesMax = Int64.max
    /// Whether to ask for a coded body (`Content-Encoding`) and to deliver it decoded.
    ///
    /// The head is then that of the decoded body: without the fields that describe the coded one,
    /// and without a length. ``bodyBytesMax`` applies to the decoded body, and so does
    /// ``decodingRatioMax``. A body that was coded twice, or as was not asked for, is
    /// `badResponse`.
    package var decodesBody = false
    /// The rates that the transfer keeps, alone or together with others.
    ///
    /// They are kept on average: bytes come in pieces of up to 16 KiB and pauses of some
    /// milliseconds. See ``CurlTransfer/share(_:)``.
    package var sharedRates: [SharedRate] = []
    /// The cookies to send where they belong, and to add to; nil to send and keep none.
    package var cookies: CookieJar?
    /// The TLS settings; without effect on `http` URLs.
    package var tls = TLSSettings()
    /// The versions to offer.
    package var httpVersion = HTTPVersion.http1
    /// Whether an origin may see the request twice.
    ///
    /// libcurl sends the request once more, on a new connection, when a kept one is dead. If
    /// this is false, each request has a connection of its own, which is closed afterwards.
    package var isReplayable: Bool
    /// Whether to look up the host's addresses again instead of using those of the last minute.
    ///
    /// For a request that follows a failed one: the known addresses may be the cause.
    package var resolvesAnew = false
    /// The group, such as a tenant, for which it is sent; nil is one group.
    ///
    /// Its lookups take turns with those of other groups, and ``egress`` may have rules for it.
    package var group: UUID?
    /// The part of the group, such as a session; nil is one part.
    ///
    /// Its lookups take turns with those of other parts.
    package var subgroup: UUID?
    /// The guard that decides which addresses the transfer may reach.
    package var egress: EgressGuard
    /// Returns whether the transfer may still connect or send its request; if not, it is cancelled.
    ///
    /// Called on the loop's thread, before each connection and each time the request is sent, even
    /// when libcurl repeats it by itself.
    package var mayBegin: @Sendable () -> Bool = { true }

    /// The bytes that a body must move, on average over each period; neither the wait for an answer
    /// nor pauses that a rate demands are part of one.
    package struct SpeedLimit: Sendable {
        /// The least number of bytes per second.
        package let bytesPerSecond: Int64
        /// The length of a period.
        package let period: Duration

        package init(bytesPerSecond: Int64, period: Duration) {
            self.bytesPerSecond = bytesPerSecond
            self.period = period
        }
    }

    /// The maximum number of decoded bytes for each coded byte; a larger body is `bodyTooLarge`,
    /// once it has ``decodedBytesFree``.
    package static let decodingRatioMax: Int64 = 200
    /// The number of decoded bytes to which ``decodingRatioMax`` does not apply: a small file may
    /// consist of one repeated byte.
    package static let decodedBytesFree: Int64 = 16 << 20
    /// The default connect timeout: ten seconds, as URL clients commonly allow.
    package static let connectTimeoutDefault: Duration = .seconds(10)
    /// The default inactivity timeout: URLSession's `timeoutIntervalForRequest`.
    package static let inactivityTimeoutDefault: Duration = .seconds(60)
    /// The default limit on header bytes: well above what real origins send, well below harm.
    package static let headerBytesMaxDefault = 64 * 1024
    /// The default limit on header lines; real responses have some dozens.
    package static let headerLinesMaxDefault = 200

    /// Creates a request whose limits have their defaults.
    ///
    /// ``isReplayable`` starts as true for the idempotent methods of RFC 9110, section 9.2.2.
    package init(
        url: CurlURL,
        method: String = "GET",
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        egress: EgressGuard
    ) {
        self.init(.success(url), method, headers, body, egress)
    }

    /// Creates a request for an absolute `http` or `https` URL without user information; see
    /// ``CurlURL``.
    package init(
        url: String,
        method: String = "GET",
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        egress: EgressGuard
    ) {
        let parsed: Result<CurlURL, CurlError>
        do throws(CurlError) {
            parsed = .success(try CurlURL(url))
        } catch {
            parsed = .failure(error)
        }
        self.init(parsed, method, headers, body, egress)
    }

    private init(
        _ url: Result<CurlURL, CurlError>,
        _ method: String,
        _ headers: [(name: String, value: String)],
        _ body: [UInt8]?,
        _ egress: EgressGuard
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.egress = egress
        isReplayable = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }
}

extension CurlRequest {
    /// The fields that determine where a message ends, which only libcurl may write.
    private static let framingNames = [
        "Content-Length", "Transfer-Encoding", "Connection", "Expect",
    ]

    /// Checks what libcurl would send without a check: the URL, the method and the header lines.
    ///
    /// All checks are on bytes: CR LF is a single `Character`, equal to neither CR nor LF.
    func validated() throws(CurlError) -> CurlURL {
        guard !method.isEmpty, method.utf8.allSatisfy(\.isTokenByte),
            body == nil || bodySource == nil,
            method != "HEAD" || (body == nil && bodySource == nil),
            headers.allSatisfy(Self.isSendable)
        else { throw CurlError(.invalidRequest) }
        return try url.get()
    }

    private static func isSendable(name: String, value: String) -> Bool {
        let bytes = value.utf8
        return !name.isEmpty && name.utf8.allSatisfy(\.isTokenByte)
            && !framingNames.contains { $0.isEqualIgnoringASCIICase(to: name) }
            && bytes.allSatisfy { ($0 >= .space && $0 != 0x7F) || $0 == .tab }
            && bytes.first != .space && bytes.first != .tab
            && bytes.last != .space && bytes.last != .tab
    }
}

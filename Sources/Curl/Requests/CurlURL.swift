import CCurl
import Glibc

/// An absolute http or https URL, parsed once by the parser that also makes the connection.
package struct CurlURL: Sendable, Hashable {
    /// `http` or `https`.
    package let scheme: String
    /// The host as normalised by libcurl, an IPv6 address in brackets.
    package let host: String
    /// The port; the scheme's default when the URL names none.
    package let port: UInt16
    /// The whole URL, normalised and without a fragment, which is never sent.
    package let absoluteString: String

    /// The length of the longest accepted URL, in bytes.
    package static let lengthMax = 16 * 1024

    /// Parses a URL that states its scheme.
    ///
    /// - Throws: ``CurlError`` with `unsupportedURL` for other schemes, relative and malformed
    ///   URLs, and those with a user name or password.
    package init(_ string: String) throws(CurlError) {
        guard Self.hasTwoSlashes(string.utf8.drop { $0 != .colon }.dropFirst()) else {
            throw CurlError(.unsupportedURL)
        }
        let handle = try Handle()
        try handle.set(string)
        try self.init(handle)
    }

    /// Returns the URL that a `Location` in a response to this one means (RFC 3986, section 5).
    ///
    /// - Throws: ``CurlError`` as ``init(_:)`` does.
    package func resolving(_ location: String) throws(CurlError) -> CurlURL {
        // Both mean this URL (section 5.2.2); libcurl takes them for the last part of a path.
        guard let first = location.utf8.first, first != UInt8(ascii: "#") else { return self }
        let rest = location.utf8.drop { $0.isSchemeByte }
        let hasScheme = rest.first == .colon && first != .colon
        // Without a scheme, libcurl puts this URL's before slashes, however many these are.
        let isSound =
            hasScheme
            ? Self.hasTwoSlashes(rest.dropFirst())
            : !location.utf8.starts(with: "///".utf8)
        guard isSound else { throw CurlError(.unsupportedURL) }
        let handle = try Handle()
        try handle.set(absoluteString)
        try handle.set(location)
        return try CurlURL(handle)
    }

    /// Returns whether exactly two slashes follow the colon of a scheme.
    ///
    /// libcurl accepts one or three as well; other parsers disagree on those.
    private static func hasTwoSlashes(_ rest: Substring.UTF8View) -> Bool {
        rest.starts(with: "//".utf8) && !rest.starts(with: "///".utf8)
    }

    /// The name that has to be looked up before a connection, or nil.
    ///
    /// It is nil for an address, and for `localhost`, which libcurl knows by itself.
    var nameToResolve: String? {
        guard !host.hasPrefix("["), !host.isIPv4Address else { return nil }
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") ? nil : name
    }

    /// The addresses that need no look-up: the host itself, or those of `localhost`; nil if a name
    /// has to be looked up.
    var ownAddresses: [String]? {
        guard nameToResolve == nil else { return nil }
        if host.hasPrefix("[") { return [String(host.dropFirst().dropLast())] }
        return host.isIPv4Address ? [host] : ["127.0.0.1", "::1"]
    }

    /// Returns whether scheme, host and port are equal, so that secrets may be sent to both.
    package func isSameOrigin(as other: CurlURL) -> Bool {
        scheme == other.scheme && port == other.port
            && host.isEqualIgnoringASCIICase(to: other.host)
    }

    private init(_ handle: borrowing Handle) throws(CurlError) {
        try handle.clearFragment()
        guard !handle.hasUserInformation,
            let scheme = handle.part(CURLUPART_SCHEME), scheme == "http" || scheme == "https",
            let host = try handle.writeHostInASCII(), !host.isEmpty,
            let port = handle.part(CURLUPART_PORT, flags: CURLU_DEFAULT_PORT).flatMap(UInt16.init),
            let absoluteString = handle.part(CURLUPART_URL)
        else { throw CurlError(.unsupportedURL) }
        self.scheme = scheme
        self.host = host
        self.port = port
        // Libcurl has an empty query, but leaves it out of the URL.
        let hasEmptyQuery = handle.part(CURLUPART_QUERY)?.isEmpty ?? false
        self.absoluteString = hasEmptyQuery ? absoluteString + "?" : absoluteString
    }

    /// Owns one `CURLU`.
    @safe private struct Handle: ~Copyable {
        private let raw: OpaquePointer

        init() throws(CurlError) {
            guard let raw = unsafe curl_url() else { throw CurlError(.outOfMemory) }
            unsafe self.raw = raw
        }

        deinit { unsafe curl_url_cleanup(raw) }

        func set(_ string: String) throws(CurlError) {
            // A C string would end at a NUL, and the checked text would not be the one in use.
            guard string.utf8.count <= CurlURL.lengthMax, !string.utf8.contains(0) else {
                throw CurlError(.unsupportedURL)
            }
            let flags = CURLU_DISALLOW_USER | CURLU_URLENCODE | CURLU_ALLOW_SPACE
            let code = unsafe curl_url_set(raw, CURLUPART_URL, string, UInt32(flags))
            guard code == CURLUE_OK else {
                throw CurlError(code == CURLUE_OUT_OF_MEMORY ? .outOfMemory : .unsupportedURL)
            }
        }

        /// Removes the fragment; libcurl does not encode that of an absolute `Location`, and would
        /// send no request because of a space in it.
        func clearFragment() throws(CurlError) {
            guard unsafe curl_url_set(raw, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK else {
                throw CurlError(.unsupportedURL)
            }
        }

        func part(_ part: CURLUPart, flags: Int32 = 0) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(raw, part, &text, UInt32(flags)) == CURLUE_OK,
                let text = unsafe text
            else { return nil }
            defer { unsafe curl_free(text) }
            return unsafe String(cString: text)
        }

        /// Writes the host in ASCII into the URL and returns it; nil when it has no such form.
        func writeHostInASCII() throws(CurlError) -> String? {
            guard let host = part(CURLUPART_HOST) else { return nil }
            if host.utf8.allSatisfy({ $0 < 0x80 }) { return host }
            guard let ascii = punycode() else { return nil }
            guard unsafe curl_url_set(raw, CURLUPART_HOST, ascii, 0) == CURLUE_OK else {
                throw CurlError(.unsupportedURL)
            }
            return ascii
        }

        /// Returns the host in punycode.
        ///
        /// libcurl reads names in the encoding of the locale, which the thread is given for this.
        private func punycode() -> String? {
            guard let locale = unsafe newlocale(1 << LC_CTYPE, "C.UTF-8", nil) else { return nil }
            let former = unsafe uselocale(locale)
            defer {
                unsafe uselocale(former)
                unsafe freelocale(locale)
            }
            return part(CURLUPART_HOST, flags: CURLU_PUNYCODE)
        }

        var hasUserInformation: Bool {
            part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil
        }
    }
}

extension String {
    /// Whether the text is an IPv4 address as libcurl writes it, however the URL spelled it.
    fileprivate var isIPv4Address: Bool {
        SocketAddress(text: self, port: 0) != nil
    }
}

extension UInt8 {
    /// Whether a scheme may have the byte (RFC 3986, section 3.1).
    fileprivate var isSchemeByte: Bool {
        isDigit || (0x61...0x7A).contains(self | 0x20) || "+-.".utf8.contains(self)
    }
}

import TransferModel

/// The parts of an absolute `http` or `https` URL that decide where a request goes.
///
/// The URL is checked byte by byte, and libcurl reads every accepted URL in the same way.
/// Backslashes, spaces, user information and characters beyond ASCII, on which parsers disagree,
/// are refused.
struct WebURL: Equatable, Sendable {
    /// The maximum length of a URL in bytes.
    static let bytesMax = 8 * 1024
    /// The maximum length of a host in bytes, that of a name in the DNS (RFC 1035 §2.3.4).
    static let hostBytesMax = 253

    /// The host as written; an IPv6 address without its brackets.
    let host: String
    let port: Int
    /// Whether the scheme is `https`.
    let isSecure: Bool

    /// The scheme, host and port.
    var origin: Origin { Origin(scheme: isSecure ? "https" : "http", host: host, port: port) }

    /// Reads `text`; a fragment, which is never sent, may be forbidden.
    init?(_ text: String, allowsFragment: Bool = true) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.bytesMax,
            bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }),
            let (defaultPort, rest) = Self.afterScheme(bytes[...])
        else { return nil }
        if !allowsFragment, bytes.contains(UInt8(ascii: "#")) { return nil }
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        guard let (host, portText) = Self.split(authority), !host.isEmpty,
            host.count <= Self.hostBytesMax, !Self.isAddressWithDot(host),
            let port = Self.port(portText, default: defaultPort)
        else { return nil }
        self.host = String(decoding: host, as: UTF8.self)
        self.port = port
        isSecure = defaultPort == 443
    }

    private static func afterScheme(
        _ bytes: ArraySlice<UInt8>
    ) -> (defaultPort: Int, rest: ArraySlice<UInt8>)? {
        for (scheme, port) in [("http://", 80), ("https://", 443)] {
            let prefix = bytes.prefix(scheme.utf8.count)
            // Only letters gain bit 5; "://" has it already.
            if prefix.lazy.map({ $0 | 0x20 }).elementsEqual(scheme.utf8) {
                return (port, bytes.dropFirst(scheme.utf8.count))
            }
        }
        return nil
    }

    /// Returns the host, and the digits of the port when there is a colon.
    private static func split(
        _ authority: ArraySlice<UInt8>
    ) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?)? {
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let host = authority[authority.startIndex + 1..<end]
            let rest = authority[(end + 1)...]
            guard host.allSatisfy(isAddressByte), host.contains(UInt8(ascii: ":")),
                rest.isEmpty || rest.first == UInt8(ascii: ":")
            else { return nil }
            return (host, rest.isEmpty ? nil : rest.dropFirst())
        }
        let host = authority.prefix { $0 != UInt8(ascii: ":") }
        guard host.allSatisfy(isNameByte) else { return nil }
        return (host, host.endIndex == authority.endIndex ? nil : authority[(host.endIndex + 1)...])
    }

    private static func port(_ digits: ArraySlice<UInt8>?, default value: Int) -> Int? {
        guard let digits else { return value }
        guard (1...5).contains(digits.count), digits.allSatisfy(isDigit),
            let port = Int(String(decoding: digits, as: UTF8.self)), (1...65535).contains(port)
        else { return nil }
        return port
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || "-._".utf8.contains(byte)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
            || ":.".utf8.contains(byte)
    }
}

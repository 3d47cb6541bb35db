/// The rules for URLs, in words.
enum URLRule {
    /// Returns what is wrong with a URL that ``WebURL`` refuses, and how to give it instead; never a
    /// part of the URL, which may hold a secret.
    static func fault(of text: String, allowsFragment: Bool = true) -> String {
        let bytes = Array(text.utf8)
        if bytes.count > WebURL.bytesMax {
            return "Has \(bytes.count) bytes, and at most \(WebURL.bytesMax) are allowed."
        }
        if let place = bytes.firstIndex(where: { !isPlain($0) }) {
            return "Has \(name(of: bytes[place])) as byte \(place + 1), which must be "
                + "percent-encoded, as `components` are by themselves where they are accepted."
        }
        guard let scheme = ["http://", "https://"].first(where: text.lowercased().hasPrefix) else {
            return "Must begin with http:// or https://."
        }
        let rest = bytes.dropFirst(scheme.utf8.count)
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        if authority.contains(UInt8(ascii: "@")) {
            return "Must have no user name and password; for transfers there are `credential` and "
                + "an Authorization header."
        }
        if !allowsFragment, bytes.contains(UInt8(ascii: "#")) {
            return "Must have no fragment."
        }
        let host = authority.prefix { $0 != UInt8(ascii: ":") }
        if host.isEmpty { return "Has no host." }
        if host.count > WebURL.hostBytesMax {
            return "Has a host of \(host.count) characters, and at most \(WebURL.hostBytesMax) are "
                + "allowed."
        }
        if WebURL.isAddressWithDot(host) { return "Has an IPv4 address with a dot behind it." }
        return "Has a host or port that is none: a host has letters, digits, `-`, `.` and `_` "
            + "or is an IPv6 address in brackets, and a port is from 1 to 65535."
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\\")
    }

    private static func name(of byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: " "): "a space"
        case UInt8(ascii: "\\"): "a backslash"
        case 0x80...: "a character that is not ASCII"
        default: "a control character"
        }
    }
}

/// The rules for URLs, in words.
enum URLRule {
    /// Returns what is wrong with a URL that ``WebURL`` refuses, and how to give it instead; never
    /// a part of the URL, which may hold a secret.
    static func fault(of text: String, allowsFragment: Bool = true) -> String {
        let bytes = Array(text.utf8)
        if bytes.count > WebURL.bytesMax {
            return "Has \(bytes.count) bytes, and at most \(WebURL.bytesMax) are allowed."
        }
        if let place = bytes.firstIndex(where: { !isPlain($0) }) {
            let isInHost = authorityPart(of: text, bytes)?.indices.contains(place) ?? false
            return "Has \(name(of: bytes[place])) as byte \(place + 1), which "
                + rule(for: bytes[place], isInHost: isInHost)
        }
        guard let authority = authorityPart(of: text, bytes) else {
            return "Must begin with http:// or https://."
        }
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

    /// Returns what is between the scheme and the path; nil without a scheme that is accepted.
    private static func authorityPart(of text: String, _ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        let lowercase = text.lowercased().utf8
        return ["http://", "https://"].first { lowercase.starts(with: $0.utf8) }
            .map { scheme in
                bytes.dropFirst(scheme.utf8.count).prefix { !"/?#".utf8.contains($0) }
            }
    }

    private static func rule(for byte: UInt8, isInHost: Bool) -> String {
        if isInHost { return byte < 0x80 ? "no host has." : "a host has in Punycode (`xn--…`)." }
        return "must be percent-encoded" + (byte == UInt8(ascii: " ") ? ", as `%20`." : ".")
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

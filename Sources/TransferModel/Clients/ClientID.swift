/// The name of a client of a tenant.
package struct ClientID: Hashable, Sendable, CustomStringConvertible {
    /// The name: 1 to ``bytesMax`` letters, digits, dots, hyphens and underscores, as a bundle
    /// identifier.
    package let name: String
    /// The longest name, in bytes.
    package static let bytesMax = 64

    /// The client that every tenant has.
    package static let `default` = ClientID(stored: "default")

    /// Creates a name; nil for invalid text, so that no name ever has to be escaped.
    package init?(_ name: String) {
        guard (1...Self.bytesMax).contains(name.utf8.count), Self.hasOnlyNameBytes(name) else {
            return nil
        }
        self.name = name
    }

    /// Restores a name from the database.
    package init(stored name: String) { self.name = name }

    package var description: String { name }

    /// The name to put in links; nil for the default client, which needs none.
    package var nameInLinks: String? { self == .default ? nil : name }

    /// Whether a text consists of letters, digits, dots, hyphens and underscores, so that it never
    /// has to be escaped; `.` and `..` would lead elsewhere in a path (RFC 3986 §5.2.4).
    static func hasOnlyNameBytes(_ text: String) -> Bool {
        text.utf8.allSatisfy(isNameByte) && text != "." && text != ".."
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "._-".utf8.contains(byte)
        }
    }
}

/// Names a client of a tenant.
package struct ClientID: Hashable, Sendable, CustomStringConvertible {
    /// 1 to ``bytesMax`` letters, digits, dots, hyphens and underscores, as a bundle identifier.
    package let name: String
    package static let bytesMax = 64

    /// The one that every tenant has.
    package static let `default` = ClientID(stored: "default")

    /// Nil for what cannot be a name, so that no name has to be escaped anywhere.
    package init?(_ name: String) {
        guard (1...Self.bytesMax).contains(name.utf8.count),
            name.utf8.allSatisfy(Self.isNameByte)
        else { return nil }
        self.name = name
    }

    /// Takes back what the database holds.
    package init(stored name: String) { self.name = name }

    package var description: String { name }

    /// Nil for the one that needs no word.
    package var nameInLinks: String? { self == .default ? nil : name }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "._-".utf8.contains(byte)
        }
    }
}

/// A value for `If-Range`, by which an origin identifies the bytes of a representation.
///
/// It is always a strong validator: two representations with the same one are equal byte for byte.
package struct EntityValidator: Hashable, Sendable {
    /// The field value as it is sent in `If-Range`: a quoted entity tag or an HTTP date.
    package let value: String

    /// The longest validator that is kept, in bytes.
    private static let bytesMax = 255
    /// The seconds by which a modification must precede the response for its date to be strong:
    /// within one second of the clock there could have been another (RFC 9110 §8.8.2.2).
    private static let dateMargin: Int64 = 60

    /// Creates the validator of a response with these fields; nil when none is strong.
    package init?(etag: String?, lastModified: String?, date: String?) {
        if let etag {
            // Beside a tag, even a weak one, the date adds nothing.
            guard Self.isStrongTag(etag) else { return nil }
            value = etag
            return
        }
        guard let lastModified, lastModified.utf8.count <= Self.bytesMax,
            let modified = RetryAfter.date(lastModified),
            let sent = date.flatMap({ RetryAfter.date($0) }), sent - modified >= Self.dateMargin
        else { return nil }
        value = lastModified
    }

    /// Restores a value from the database.
    package init(stored value: String) { self.value = value }

    /// Whether the validator is an entity tag, which `If-Match` accepts too.
    package var isEntityTag: Bool { value.utf8.first == UInt8(ascii: "\"") }

    /// Returns whether a later response with these fields may be of the same bytes.
    ///
    /// A response without the field has promised so with its 206.
    package func agrees(etag: String?, lastModified: String?) -> Bool {
        let told = isEntityTag ? etag : lastModified
        return told.map { Array($0.utf8) == Array(value.utf8) } ?? true
    }

    /// Whether a tag is strong: quoted, without `W/`, of visible characters but quotes (RFC 9110
    /// §8.8.3).
    ///
    /// One with bytes beyond ASCII, which that allows too, is none here: they may be read in one
    /// coding and sent back in another, and the origin would not know its own tag.
    private static func isStrongTag(_ etag: String) -> Bool {
        let bytes = Array(etag.utf8)
        guard (2...bytesMax).contains(bytes.count), bytes.first == UInt8(ascii: "\""),
            bytes.last == UInt8(ascii: "\"")
        else { return false }
        return bytes.dropFirst().dropLast().allSatisfy {
            $0 == 0x21 || (0x23...0x7E).contains($0)
        }
    }
}

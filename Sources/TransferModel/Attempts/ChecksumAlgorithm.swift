/// An algorithm for checksums, named as in RFC 9530's registry and in the API.
///
/// The cases are ordered from the weakest to the strongest. MD5 and CRC-32C detect damage, not
/// malice (RFC 9530, section 5).
package enum ChecksumAlgorithm: String, CaseIterable, Comparable, Sendable {
    case crc32c
    case md5
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// The length of the algorithm's checksums in bytes.
    package var byteCount: Int {
        switch self {
        case .crc32c: 4
        case .md5: 16
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// Returns whether `right` is the stronger algorithm.
    package static func < (left: Self, right: Self) -> Bool { left.byteCount < right.byteCount }
}

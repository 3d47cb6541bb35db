internal import Crypto

/// Bytes that an origin serves: given bytes, or any number generated from a seed and not stored.
package enum OriginBody: Sendable {
    /// Exactly the given bytes.
    case bytes([UInt8])
    /// Pseudorandom bytes, `size` in number, determined by the seed.
    case random(seed: UInt64, size: Int)

    /// No bytes.
    package static let empty = OriginBody.bytes([])

    /// Returns a text in UTF-8.
    package static func text(_ text: String) -> OriginBody { .bytes(Array(text.utf8)) }

    /// The number of bytes.
    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .random(_, let size): size
        }
    }

    /// Returns the bytes at `range`, computed on demand; the range is cut to the body.
    package func bytes(in range: Range<Int>) -> [UInt8] {
        let range = range.clamped(to: 0..<count)
        switch self {
        case .bytes(let bytes):
            return Array(bytes[range])
        case .random(let seed, _):
            return Array(unsafeUninitializedCapacity: range.count) { buffer, filled in
                for offset in range { buffer[offset - range.lowerBound] = Self.byte(seed, offset) }
                filled = range.count
            }
        }
    }

    /// All bytes; only for bodies that fit in memory.
    package var bytes: [UInt8] { bytes(in: 0..<count) }

    /// The SHA-256 of the whole body in lower-case hexadecimal.
    package var sha256: String {
        var hash = SHA256()
        for start in stride(from: 0, to: count, by: Self.pieceBytes) {
            hash.update(data: bytes(in: start..<start + Self.pieceBytes))
        }
        return hash.finalize().hexadecimal
    }

    /// Returns the SHA-256 of `bytes` in lower-case hexadecimal.
    package static func sha256(of bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).hexadecimal
    }

    /// The number of bytes generated, hashed and sent at once.
    static let pieceBytes = 64 * 1024

    /// Returns SplitMix64 of the word's position, so that any offset can be computed by itself.
    private static func byte(_ seed: UInt64, _ offset: Int) -> UInt8 {
        var word = seed &+ UInt64(offset / 8 + 1) &* 0x9E37_79B9_7F4A_7C15
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        word ^= word >> 31
        return UInt8(truncatingIfNeeded: word >> (8 * UInt64(offset % 8)))
    }
}

extension SHA256Digest {
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef")
        return String(flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}

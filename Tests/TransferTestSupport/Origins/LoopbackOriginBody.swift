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
                let bytes = UnsafeMutableRawBufferPointer(buffer)
                var offset = range.lowerBound
                while offset < range.upperBound {
                    var word = Self.word(seed, offset / 8).littleEndian
                    let skipped = offset % 8
                    let count = min(8 - skipped, range.upperBound - offset)
                    let place = offset - range.lowerBound
                    if count == 8 {
                        bytes.storeBytes(of: word, toByteOffset: place, as: UInt64.self)
                    } else {
                        withUnsafeBytes(of: &word) { word in
                            bytes[place..<place + count].copyBytes(
                                from: word[skipped..<skipped + count]
                            )
                        }
                    }
                    offset += count
                }
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

    /// Returns SplitMix64 of a word's place, so that any offset can be computed by itself.
    private static func word(_ seed: UInt64, _ place: Int) -> UInt64 {
        var word = seed &+ UInt64(place + 1) &* 0x9E37_79B9_7F4A_7C15
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}

extension SHA256Digest {
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef")
        return String(flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}

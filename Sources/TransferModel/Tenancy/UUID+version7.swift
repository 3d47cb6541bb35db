package import Foundation

extension UUID {
    /// The identifier in lower-case hexadecimal with hyphens (RFC 9562 §4).
    ///
    /// Foundation's `uuidString` uses printf(3), and this text is in every file name and every
    /// answer.
    package var text: String {
        String(unsafeUninitializedCapacity: 36) { text in
            withUnsafeBytes(of: uuid) { bytes in
                var end = 0
                func append(_ digit: UInt8) {
                    text[end] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                    end += 1
                }
                for (index, byte) in bytes.enumerated() {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        text[end] = UInt8(ascii: "-")
                        end += 1
                    }
                    append(byte >> 4)
                    append(byte & 15)
                }
                return end
            }
        }
    }

    /// Returns a version 7 identifier: 48 bits of milliseconds since 1970, then random bits
    /// (RFC 9562 §5.7).
    package static func version7(at date: Date = Date()) -> UUID {
        UUID(version7Start(at: date), 1 << 63 | UInt64.random(in: 0..<1 << 62))
    }

    /// Returns version 7 identifiers of one time that follow each other without a gap, as many as
    /// `count`: a counter from a random number takes the place of the last 62 random bits (RFC 9562
    /// §6.2, method 2).
    ///
    /// Several begin with a block (``isInBlock(of:)``), so that they are in as few as possible. No
    /// other identifier lies between them, unless 67 random bits are drawn alike.
    package static func consecutiveVersion7(count: Int, at date: Date = Date()) -> [UUID] {
        let high = version7Start(at: date)
        var first = UInt64.random(in: 0...(1 << 62) - UInt64(max(1, count)))
        if count > 1 { first &= ~(blockLength - 1) }
        return (0..<UInt64(count)).map { UUID(high, 1 << 63 | first + $0) }
    }

    /// Returns the first half of a version 7 identifier: its time, the version and 12 random bits.
    private static func version7Start(at date: Date) -> UInt64 {
        let milliseconds = UInt64(max(0, date.timeIntervalSince1970 * 1000))
        return milliseconds << 16 | 0x7000 | UInt64.random(in: 0..<1 << 12)
    }

    /// Whether this identifier is less than `other`, which PostgreSQL's order of them also is.
    ///
    /// Foundation's `<` takes the same time wherever they differ, which is many times that of this.
    package func precedes(_ other: UUID) -> Bool { words < other.words }

    /// Whether this is the identifier after `other`.
    package func follows(_ other: UUID) -> Bool {
        words.high == other.words.high && words.low == other.words.low &+ 1
    }

    /// The number of identifiers in a block.
    private static let blockLength: UInt64 = 128

    /// Whether this identifier and `other` differ in nothing but their last seven bits.
    package func isInBlock(of other: UUID) -> Bool {
        words.high == other.words.high
            && words.low / Self.blockLength == other.words.low / Self.blockLength
    }

    /// Returns the identifier `count` places after this one among those that follow each other.
    package func advanced(by count: Int) -> UUID {
        UUID(words.high, words.low &+ UInt64(truncatingIfNeeded: count))
    }

    /// Its bytes, the first of which are the most significant ones, as two numbers.
    private var words: (high: UInt64, low: UInt64) {
        withUnsafeBytes(of: uuid) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    private init(_ high: UInt64, _ low: UInt64) {
        let bytes = withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) {
            $0.loadUnaligned(as: uuid_t.self)
        }
        self.init(uuid: bytes)
    }
}

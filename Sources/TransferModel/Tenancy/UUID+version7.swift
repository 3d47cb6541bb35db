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

    /// The maximum number of identifiers of ``ascendingVersion7(count:at:)``: its counter has 12
    /// bits.
    package static let ascendingMax = 4096

    /// Returns a version 7 identifier: 48 bits of milliseconds since 1970, then random bits
    /// (RFC 9562 §5.7).
    package static func version7(at date: Date = Date()) -> UUID {
        version7(at: date, UInt64.random(in: 0..<UInt64(ascendingMax)))
    }

    /// Returns version 7 identifiers of one time in ascending order, up to ``ascendingMax``: a
    /// counter takes the place of the first random bits (RFC 9562 §6.2, method 1).
    package static func ascendingVersion7(count: Int, at date: Date = Date()) -> [UUID] {
        precondition(count <= ascendingMax, "the counter has 12 bits")
        return (0..<UInt64(count)).map { version7(at: date, $0) }
    }

    /// Returns a version 7 identifier with these 12 bits behind its time.
    private static func version7(at date: Date, _ bits: UInt64) -> UUID {
        let milliseconds = UInt64(max(0, date.timeIntervalSince1970 * 1000))
        let high = milliseconds << 16 | 0x7000 | bits
        let low = UInt64.random(in: .min ... .max) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        func byte(_ value: UInt64, _ index: UInt64) -> UInt8 {
            UInt8(truncatingIfNeeded: value >> (56 - 8 * index))
        }
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3),
                byte(high, 4), byte(high, 5), byte(high, 6), byte(high, 7),
                byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3),
                byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
            )
        )
    }
}

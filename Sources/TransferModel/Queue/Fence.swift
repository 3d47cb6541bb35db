/// A proof that an attempt is the live one of its task.
///
/// The high 24 bits hold a worker's incarnation, which a durable registration gives out once; the
/// low 40 bits hold a counter of that worker. So no two attempts ever share a fence, and no fence
/// comes from a sequence that a crash could hand out twice. Every transition of an attempt names
/// its fence; a transition that finds no row with its fence changes nothing.
package struct Fence: Hashable, Sendable, CustomStringConvertible {
    /// The value stored in `attempt.fence`.
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// The end of the incarnations, which a registration never gives out.
    package static let incarnationEnd: Int32 = (1 << 23) - 1

    /// Creates fence `counter` of the worker `incarnation`.
    package init(incarnation: Int32, counter: Int64) {
        rawValue = Int64(incarnation) << 40 | counter
    }

    /// The values of all fences of the worker `incarnation`.
    package static func all(of incarnation: Int32) -> ClosedRange<Int64> {
        let first = Fence(incarnation: incarnation, counter: 0)
        let last = Fence(incarnation: incarnation, counter: (1 << 40) - 1)
        return first.rawValue...last.rawValue
    }

    /// The incarnation of the worker that the fence was given to.
    package var incarnation: Int32 { Int32(truncatingIfNeeded: rawValue >> 40) }

    /// The fence as sixteen hexadecimal digits, as in part file names.
    package var description: String {
        String(unsafeUninitializedCapacity: 16) { text in
            for place in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: rawValue >> Int64(60 - 4 * place)) & 15
                text[place] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            }
            return 16
        }
    }
}

/// Proves that an attempt is the living one of its task.
///
/// A worker's incarnation, given out once by a durable registration, in the high 24 bits and a
/// counter of that worker in the low 40: no two attempts ever share a fence, and none comes from
/// a sequence that a crash could hand out twice. Every transition of an attempt names its fence;
/// one that finds no row with it publishes nothing.
package struct Fence: Hashable, Sendable, CustomStringConvertible {
    /// As stored in `attempt.fence`.
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Fence `counter` of the worker `incarnation`.
    package init(incarnation: Int32, counter: Int64) {
        rawValue = Int64(incarnation) << 40 | counter
    }

    /// The worker that it was given to.
    package var incarnation: Int32 { Int32(truncatingIfNeeded: rawValue >> 40) }

    /// Sixteen hexadecimal digits, as in part file names.
    package var description: String {
        let digits = String(UInt64(bitPattern: rawValue), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// What was promised, and whether it held.
struct Verdict: Sendable {
    private(set) var lines: [String] = []
    private(set) var hasHeld = true

    /// Notes a promise and the faults found with it; none means that it held.
    mutating func note(_ promise: String, faults: [String] = []) {
        lines.append("  \(faults.isEmpty ? "ok   " : "FAILS") \(promise)")
        lines += faults.prefix(Self.faultsShownMax).map { "          \($0)" }
        hasHeld = hasHeld && faults.isEmpty
    }

    /// Beyond these it is the same again.
    private static let faultsShownMax = 5
}

/// The promises, and whether they held.
struct Verdict: Sendable {
    private(set) var lines: [String] = []
    private(set) var hasHeld = true

    /// Records a promise and the faults found with it; none means that it held.
    mutating func note(_ promise: String, faults: [String] = []) {
        lines.append("  \(faults.isEmpty ? "ok   " : "FAILS") \(promise)")
        lines += faults.prefix(Self.faultsShownMax).map { "          \($0)" }
        hasHeld = hasHeld && faults.isEmpty
    }

    /// The number of faults shown; further ones only repeat them.
    private static let faultsShownMax = 5
}

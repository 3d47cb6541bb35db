/// Seconds by contender, round by round.
struct Table {
    private var order: [String] = []
    private var seconds: [String: [Double]] = [:]

    mutating func add(_ name: String, _ value: Double) {
        if seconds[name] == nil { order.append(name) }
        seconds[name, default: []].append(value)
        Swift.print("  \(name): \(Self.format(value)) s")
    }

    /// Prints the medians, and how many times as fast the first of each pair is as the second.
    func print(comparing pairs: [(String, String)]) {
        Swift.print("\nmedian seconds")
        for name in order {
            let values = seconds[name] ?? []
            Swift.print(
                "  \(Self.format(Self.median(values)))  \(name)",
                "  (\(Self.format(values.min() ?? 0))…\(Self.format(values.max() ?? 0)))"
            )
        }
        Swift.print("\nratios of speed, round by round")
        for (first, second) in pairs where seconds[first] != nil && seconds[second] != nil {
            let ratios = zip(seconds[first] ?? [], seconds[second] ?? []).map { $1 / $0 }
            Swift.print("  \(Self.format(Self.median(ratios))) x  \(first)  to  \(second)")
        }
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return sorted[sorted.count / 2]
    }

    static func format(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}

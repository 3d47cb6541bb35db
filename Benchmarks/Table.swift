import Glibc

/// A table of figures by measurement, round by round; mostly the seconds of a contender.
struct Table {
    enum Unit: String {
        case seconds = "s"
        case milliseconds = "ms"
        case microseconds = "µs"
        case percent = "% of a core"
        case share = "% of the service's processor time"
        case perSecond = "a second"
        case bytes = "bytes"
        case count = ""

        /// Whether a larger figure is better.
        var isRate: Bool { self == .perSecond }
    }

    private var order: [String] = []
    private var values: [String: [Double]] = [:]
    private var units: [String: Unit] = [:]
    private var counts: [String: Int] = [:]
    private var pairs: [(String, String)] = []

    /// Adds a figure; a further one of the same name belongs to another round.
    ///
    /// - Parameters:
    ///   - name: the name of the contender or measurement.
    ///   - value: the figure.
    ///   - unit: the unit of the figure.
    ///   - count: the amount of work done in that time, when the rate is of interest.
    mutating func add(
        _ name: String,
        _ value: Double,
        in unit: Unit = .seconds,
        for count: Int? = nil
    ) {
        if values[name] == nil { order.append(name) }
        values[name, default: []].append(value)
        units[name] = unit
        counts[name] = count
        Swift.print("  \(name): \(Self.format(value)) \(unit.rawValue)")
        // Somebody who waits for minutes sees the progress, also through a pipe.
        fflush(nil)
    }

    /// Records that the first is to be compared with the second.
    mutating func compare(_ first: String, to second: String) {
        guard !pairs.contains(where: { $0 == (first, second) }) else { return }
        pairs.append((first, second))
    }

    /// Prints the medians, and the factor by which the first of each pair is faster, or cheaper,
    /// than the second.
    func print() {
        Swift.print("\nmedians")
        for name in order {
            let values = values[name] ?? []
            let median = Self.median(values)
            let rate = counts[name].map { ", \(Int(Double($0) / median)) a second" } ?? ""
            Swift.print(
                "  \(Self.format(median)) \(units[name, default: .seconds].rawValue)  \(name)",
                "  (\(Self.format(values.min() ?? 0))…\(Self.format(values.max() ?? 0)))\(rate)"
            )
        }
        Swift.print("\nratios of speed or thrift, round by round")
        for (first, second) in pairs where values[first] != nil && values[second] != nil {
            let isRate = units[first]?.isRate ?? false
            let ratios = zip(values[first] ?? [], values[second] ?? []).map {
                isRate ? $0 / $1 : $1 / $0
            }
            Swift.print("  \(Self.format(Self.median(ratios))) x  \(first)  to  \(second)")
        }
    }

    static func median(_ values: [Double]) -> Double { percentile(50, of: values) }

    /// Returns the value below which `percent` of all values are; 0 when there are none.
    static func percentile(_ percent: Int, of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return sorted[min(sorted.count * percent / 100, sorted.count - 1)]
    }

    static func format(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}

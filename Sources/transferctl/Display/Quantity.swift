import Foundation

/// Numbers as people read them.
enum Quantity {
    /// Returns bytes in a unit of 1,024, such as `3.4 MiB`.
    static func bytes(_ count: Int64) -> String {
        guard count >= 1024 else { return "\(count) B" }
        var value = Double(count) / 1024
        var units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][...]
        // What would be rounded to 1024.0 has the next unit.
        while value >= 1023.95, units.count > 1 {
            value /= 1024
            units.removeFirst()
        }
        return "\(String(format: "%.1f", value)) \(units.first ?? "")"
    }

    /// Returns a rate in bytes per second.
    static func rate(_ bytesPerSecond: Double) -> String {
        "\(bytes(Int64(min(max(bytesPerSecond, 0), 1e18))))/s"
    }

    /// Returns a time with its two largest units, such as `1m05s`.
    static func time(_ seconds: Double) -> String {
        let seconds = Int64(min(max(seconds.rounded(), 0), 1e15))
        let parts = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")] as [(Int64, String)]
        guard let first = parts.firstIndex(where: { seconds >= $0.0 }) else { return "0s" }
        let head = "\(seconds / parts[first].0)\(parts[first].1)"
        guard first + 1 < parts.count else { return head }
        let rest = seconds % parts[first].0 / parts[first + 1].0
        return "\(head)\(rest < 10 ? "0" : "")\(rest)\(parts[first + 1].1)"
    }
}

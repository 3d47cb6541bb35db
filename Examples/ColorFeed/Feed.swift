import Foundation

/// The feed: colors with the time at which they came.
actor Feed {
    struct Color: Codable, Sendable {
        let red: Double
        let green: Double
        let blue: Double
        let date: Date
    }

    private(set) var colors: [Color] = []
    /// The number of times that old colors were removed.
    private(set) var cleanings = 0

    /// Adds what is new, where a real feed would ask its server.
    func refresh() {
        for _ in 0..<3 {
            colors.append(
                Color(
                    red: .random(in: 0...1),
                    green: .random(in: 0...1),
                    blue: .random(in: 0...1),
                    date: .now
                )
            )
        }
    }

    func clean(olderThan seconds: TimeInterval) {
        colors.removeAll { $0.date.timeIntervalSinceNow < -seconds }
        cleanings += 1
    }
}

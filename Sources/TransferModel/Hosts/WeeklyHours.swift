package import Foundation

/// A set of hours of the week, in UTC.
package struct WeeklyHours: Equatable, Sendable {
    private static let dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    private static let minutesOfDay = 24 * 60
    /// The most periods.
    private static let periodsMax = 32

    /// A time from one minute to another on some days; past midnight where it ends before it
    /// begins.
    private struct Period: Equatable {
        /// The days on which the period begins, from 0 for Sunday to 6.
        let days: Set<Int>
        /// Its first minute of the day, and the one after its last; at most 1440.
        let begin: Int
        let end: Int

        func contains(day: Int, minute: Int) -> Bool {
            guard begin < end else {
                return days.contains(day) && minute >= begin
                    || days.contains((day + 6) % 7) && minute < end
            }
            return days.contains(day) && (begin..<end).contains(minute)
        }
    }

    private let periods: [Period]

    /// Creates a value without any hours.
    package init() { periods = [] }

    /// Reads periods separated by commas, each with days, times or both: `mon-fri 22:00-06:00,
    /// sat-sun`.
    ///
    /// - Returns: nil for anything else.
    package init?(_ text: String) {
        var periods: [Period] = []
        for part in text.split(separator: ",") {
            guard let period = Self.period(part.split(separator: " ").map(String.init)) else {
                return nil
            }
            periods.append(period)
        }
        guard (1...Self.periodsMax).contains(periods.count) else { return nil }
        self.periods = periods
    }

    /// Returns whether `date` is within one of the periods.
    package func contains(_ date: Date) -> Bool {
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        let minutes = Int((Double(seconds) / 60).rounded(.down))
        let days = Int((Double(seconds) / 86_400).rounded(.down))
        // Day 0 of that count was a Thursday.
        let day = ((days + 4) % 7 + 7) % 7
        let minute = minutes - days * Self.minutesOfDay
        return periods.contains { $0.contains(day: day, minute: minute) }
    }

    private static func period(_ words: [String]) -> Period? {
        let everyDay = Set(0..<7)
        switch words.count {
        case 1:
            if let days = days(words[0]) {
                return Period(days: days, begin: 0, end: minutesOfDay)
            }
            return times(words[0]).map { Period(days: everyDay, begin: $0.begin, end: $0.end) }
        case 2:
            guard let days = days(words[0]), let times = times(words[1]) else { return nil }
            return Period(days: days, begin: times.begin, end: times.end)
        default: return nil
        }
    }

    /// Reads `sat` or `mon-fri`, also across the end of the week.
    private static func days(_ text: String) -> Set<Int>? {
        let ends = text.lowercased().split(separator: "-", omittingEmptySubsequences: false)
            .map { dayNames.firstIndex(of: String($0)) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1]
        else { return nil }
        return Set((0...((last - first + 7) % 7)).map { (first + $0) % 7 })
    }

    /// Reads `22:00-06:00`; the end of the day is 24:00.
    private static func times(_ text: String) -> (begin: Int, end: Int)? {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { minute($0) }
        guard ends.count == 2, let begin = ends[0], let end = ends[1], begin < minutesOfDay,
            begin != end
        else { return nil }
        return (begin, end)
    }

    private static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }),
            let hour = UInt8(parts[0]), let minute = UInt8(parts[1]), minute < 60,
            hour < 24 || hour == 24 && minute == 0
        else { return nil }
        return Int(hour) * 60 + Int(minute)
    }
}

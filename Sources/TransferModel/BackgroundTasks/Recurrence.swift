package import Foundation

/// When a background task is launched again and again.
package struct Recurrence: Equatable, Sendable {
    /// The rule from which the occurrences follow.
    package enum Rule: Equatable, Sendable {
        /// A fixed time between two occurrences.
        case every(Duration)
        /// The times of a cron expression in a time zone.
        case cron(CronExpression, TimeZone)
    }

    /// What becomes of occurrences for which no scheduler was there.
    package enum MissedPolicy: String, CaseIterable, Sendable {
        /// They are left out.
        case skip
        /// One launch stands for all of them.
        case once
        /// Each is launched, one after the other.
        case all
    }

    package let rule: Rule
    package let missed: MissedPolicy
    /// The longest random time by which a launch is delayed, so that many clients do not come at
    /// once; it may be longer than the time between two.
    package let jitter: Duration

    /// The range of the time between two occurrences, in seconds.
    package static let intervalRange: ClosedRange<Double> = 10...(366 * 86_400)
    /// The range of the jitter, in seconds.
    package static let jitterRange: ClosedRange<Double> = 0...86_400
    /// The lateness with which an occurrence counts as missed.
    package static let missedAfter: Duration = .seconds(60)

    package init(rule: Rule, missed: MissedPolicy = .once, jitter: Duration = .zero) {
        self.rule = rule
        self.missed = missed
        self.jitter = jitter
    }

    /// Returns the first occurrence of a request that is submitted at `now` and may begin at
    /// `earliest`; nil if there is none by the end of year 9999, or, of a cron expression, within
    /// eight years.
    package func first(earliest: Date?, now: Date) -> Date? {
        switch rule {
        case .every: return delayable(earliest ?? now)
        // An occurrence at the earliest begin itself counts, and none that is past.
        case .cron(let cron, let zone):
            let base = earliest.map { max(Self.lastSecond(before: $0), now) } ?? now
            return delayable(cron.next(after: base, in: zone))
        }
    }

    /// Returns the last whole second before `date`.
    ///
    /// Occurrences are whole minutes: none is between the two. A microsecond less could not be told
    /// from `date` in a far year.
    private static func lastSecond(before date: Date) -> Date {
        Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.up) - 1)
    }

    /// Returns the occurrence after `occurrence`, and, unless all missed ones are wanted, after
    /// `now`; nil if there is none by the end of year 9999, or, of a cron expression, within eight
    /// years.
    package func next(after occurrence: Date, now: Date) -> Date? {
        let base = missed == .all ? occurrence : max(occurrence, now)
        switch rule {
        case .every(let interval):
            let period = interval / .seconds(1)
            let count = (base.timeIntervalSince(occurrence) / period).rounded(.down) + 1
            return delayable(occurrence + count * period)
        case .cron(let cron, let zone): return delayable(cron.next(after: base, in: zone))
        }
    }

    /// The first time that RFC 3339, with its four digits for a year, cannot write.
    private static let timesEnd = Date(timeIntervalSince1970: 253_402_300_800)

    /// Returns an occurrence whose launch has a time that can be written even after the longest
    /// delay; nil for any other.
    private func delayable(_ occurrence: Date?) -> Date? {
        guard let occurrence, occurrence + jitter / .seconds(1) < Self.timesEnd else { return nil }
        return occurrence
    }
}

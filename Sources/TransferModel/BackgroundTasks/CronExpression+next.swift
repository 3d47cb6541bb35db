package import Foundation

/// The next time of an expression, as Debian's cron handles changes of summer time: a time of day
/// that is left out comes at the end of the gap, and one that comes twice counts once. An
/// expression for every hour follows real time instead.
extension CronExpression {
    /// The number of days looked through: eight years have a 29 February.
    private static let daysMax = 8 * 366 + 2

    /// Returns the first time after `date`; nil if there is none within eight years.
    package func next(after date: Date, in zone: TimeZone) -> Date? {
        let clock = LocalClock(zone: zone)
        let start = Int((date.timeIntervalSince1970 / 60).rounded(.down)) * 60
        let found =
            isEveryHour ? nextElapsed(after: start, clock) : nextOfDay(after: start, clock)
        return found.map { Date(timeIntervalSince1970: Double($0)) }
    }

    /// Looks minute by minute at what the clocks on the walls show, and passes over whole days.
    private func nextElapsed(after start: Int, _ clock: LocalClock) -> Int? {
        var time = start + 60
        for _ in 0..<Self.daysMax {
            let day = clock.day(at: time)
            while clock.day(at: time) == day, contains(CivilDate(daysSince1970: day)) {
                let (hour, minute) = clock.timeOfDay(at: time)
                if hours.contains(hour), minutes.contains(minute) { return time }
                time += 60
            }
            if clock.day(at: time) == day { time = clock.firstTime(afterDay: day, from: time) }
        }
        return nil
    }

    /// Looks at the times of each day, and then at when the clocks show them for the first time.
    private func nextOfDay(after start: Int, _ clock: LocalClock) -> Int? {
        let first = clock.day(at: start)
        for day in first..<first + Self.daysMax where contains(CivilDate(daysSince1970: day)) {
            for hour in 0...23 where hours.contains(hour) {
                for minute in 0...59 where minutes.contains(minute) {
                    let wall = day * CivilDate.secondsPerDay + hour * 3600 + minute * 60
                    let time = clock.firstTime(showing: wall)
                    if time > start { return time }
                }
            }
        }
        return nil
    }
}

import Foundation

/// What the clocks of a time zone show, in seconds since 1970 of real time and of wall time.
struct LocalClock: Sendable {
    let zone: TimeZone

    private func offset(at time: Int) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time)))
    }

    /// The number of the day, counted from 1 January 1970.
    func day(at time: Int) -> Int {
        CivilDate.floorDivision(time + offset(at: time), CivilDate.secondsPerDay)
    }

    func timeOfDay(at time: Int) -> (hour: Int, minute: Int) {
        let seconds = CivilDate.floorRemainder(
            time + offset(at: time),
            CivilDate.secondsPerDay
        )
        return (seconds / 3600, seconds % 3600 / 60)
    }

    /// Returns the first minute of a later day than `day`, at which it is `time`.
    func firstTime(afterDay day: Int, from time: Int) -> Int {
        // Close to the end of the day by wall time, whatever the clocks do until then.
        var next = max(time, firstTime(showing: (day + 1) * CivilDate.secondsPerDay))
        while self.day(at: next) <= day { next += 60 }
        return next
    }

    /// Returns the first time at which the clocks show `wall`, or a later one if they leave it out.
    ///
    /// Of the offsets a day before and a day after, one is in force then; no zone has ever changed
    /// its offset twice within two days but for corrections that nobody schedules by.
    func firstTime(showing wall: Int) -> Int {
        let before = offset(at: wall - CivilDate.secondsPerDay)
        let after = offset(at: wall + CivilDate.secondsPerDay)
        let candidates = [wall - before, wall - after].sorted()
        for time in candidates where time + offset(at: time) == wall { return time }
        // In a gap: the first minute after it.
        var low = candidates[0] - CivilDate.secondsPerDay
        var high = candidates[1] + CivilDate.secondsPerDay
        while high - low > 1 {
            let middle = (low + high) / 2
            if middle + offset(at: middle) < wall { low = middle } else { high = middle }
        }
        return high
    }
}

import Foundation

/// The time of the database's clock, as far as this machine can tell: it notices when that clock
/// was set, and until it follows the change lets nothing be due earlier than the time that has
/// really passed; it only decides.
///
/// A clock that is wrong for a moment is waited out. One that stays changed is followed, because it
/// may have been wrong before.
struct DatabaseClock {
    typealias Instant = ContinuousClock.Instant

    /// The jump in seconds up to which a clock only runs a little faster or slower and is adjusted.
    private static let jumpMin: TimeInterval = 1

    /// The time for which a clock that was set ahead is not followed.
    private let patience: Duration
    private var reading: Reading?
    private var jump: (at: Instant, ahead: TimeInterval)?

    /// The number of seconds by which it is ahead of the time that has passed, as long as it is not
    /// followed.
    var ahead: TimeInterval? { jump?.ahead }

    /// The date that the clock showed at some moment between `asked` and `answered`.
    private struct Reading {
        let date: Date
        let asked: Instant
        let answered: Instant
    }

    init(patience: Duration) { self.patience = patience }

    /// Returns the latest date that it can show at `now`, unless it is set meanwhile; nil before it
    /// was read.
    func latest(at now: Instant) -> Date? {
        reading.map { $0.date + (now - $0.asked) / .seconds(1) }
    }

    private func earliest(at now: Instant) -> Date? {
        reading.map { $0.date + (now - $0.answered) / .seconds(1) }
    }

    /// Records the date that it showed, when it was asked at `asked`.
    ///
    /// - Returns: the number of seconds by which it was set, when that is first seen.
    mutating func note(_ date: Date, asked: Instant, answered: Instant) -> TimeInterval? {
        let new = Reading(date: date, asked: asked, answered: answered)
        guard let earliest = earliest(at: asked), let latest = latest(at: answered) else {
            reading = new
            return nil
        }
        let ahead = date.timeIntervalSince(latest)
        guard ahead > Self.jumpMin else {
            jump = nil
            reading = new
            let behind = earliest.timeIntervalSince(date)
            return behind > Self.jumpMin ? -behind : nil
        }
        guard let since = jump?.at else {
            jump = (at: answered, ahead: ahead)
            return ahead
        }
        if answered - since >= patience {
            jump = nil
            reading = new
        }
        return nil
    }
}

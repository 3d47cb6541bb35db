import Synchronization
package import TransferModel

/// What this instance is short of now; as long as there is something, it claims no task.
///
/// An attempt tells of a shortage, and a probe confirms it: what was over when it was looked at was
/// one attempt's bad luck, or its own size. Where the attempts themselves use it all up, none is
/// claimed until the probe, whatever that finds. One that comes back soon is waited out for longer.
package final class Shortages: Sendable {
    /// Between the first sight of a shortage and its second probe; doubled while it lasts.
    private static let pauseMin: Duration = .seconds(1)
    private static let pauseMax: Duration = .seconds(30)

    private struct Entry {
        var isConfirmed: Bool
        var pause: Duration
        var probeAt: ContinuousClock.Instant
    }

    private struct State {
        var entries: [Shortage: Entry] = [:]
        /// When one was over, and how long it was waited for last.
        var ended: [Shortage: (at: ContinuousClock.Instant, pause: Duration)] = [:]
    }

    private let state = Mutex(State())
    private let news = WakeSignal()

    package init() {}

    /// What there is too little of, in one order.
    package var current: [Shortage] {
        state.withLock { $0.entries.filter(\.value.isConfirmed).keys.sorted() }
    }

    /// Whether tasks may be claimed.
    var isNone: Bool { state.withLock { !$0.entries.values.contains(where: \.isConfirmed) } }

    /// Something could not be done for want of it.
    func note(_ shortage: Shortage, at now: ContinuousClock.Instant = .now) {
        let isNews = state.withLock { state in
            guard state.entries[shortage] == nil else { return false }
            let isConfirmed = shortage == .descriptorsExhausted
            var entry = Entry(
                isConfirmed: isConfirmed,
                pause: Self.pauseMin,
                probeAt: isConfirmed ? now + Self.pauseMin : now
            )
            if let ended = state.ended[shortage], now - ended.at < ended.pause * 2 {
                entry.pause = min(ended.pause * 2, Self.pauseMax)
                entry.probeAt = isConfirmed ? now + entry.pause : ended.at + Self.pauseMin
            }
            state.entries[shortage] = entry
            return true
        }
        if isNews { news.signal() }
    }

    /// Those that it is time to probe, and how long until the next one is; nil when there is none.
    func due(at now: ContinuousClock.Instant = .now) -> (now: [Shortage], next: Duration?) {
        state.withLock { state in
            let due = state.entries.filter { $0.value.probeAt <= now }.keys.sorted()
            let next = state.entries.values.map(\.probeAt).min().map { max($0 - now, .zero) }
            return (due, next)
        }
    }

    /// A probe has found out whether one is over.
    func probed(_ shortage: Shortage, isOver: Bool, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            guard var entry = state.entries[shortage] else { return }
            guard !isOver else {
                state.entries[shortage] = nil
                state.ended[shortage] = (now, entry.isConfirmed ? entry.pause : Self.pauseMin)
                return
            }
            if entry.isConfirmed { entry.pause = min(entry.pause * 2, Self.pauseMax) }
            entry.isConfirmed = true
            entry.probeAt = now + entry.pause
            state.entries[shortage] = entry
        }
    }

    /// Returns when there is one more, or when the task is cancelled; for one waiting task at a time.
    func wait() async { await news.wait() }
}

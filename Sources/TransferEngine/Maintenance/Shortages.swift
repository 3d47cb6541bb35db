import Synchronization
package import TransferModel

/// The resources that this instance lacks now; as long as there is a shortage, it claims no task.
///
/// An attempt reports a shortage, and a probe confirms it: a shortage that was already over at the
/// probe was one attempt's bad luck, or its own size. Where the attempts themselves use a resource
/// up, no task is claimed until the probe, whatever it finds. A shortage that soon comes back is
/// waited out for longer.
///
/// It tells more than it waits for: a probe is small, and may succeed while every attempt fails.
package final class Shortages: Sendable {
    /// The time between the first sight of a shortage and its second probe; doubled while it lasts.
    private static let pauseMin: Duration = .seconds(1)
    private static let pauseMax: Duration = .seconds(30)
    /// How long a shortage that was confirmed is told of after an attempt that still met it.
    private static let relapseMax: Duration = .seconds(20)

    private struct Entry {
        var isConfirmed: Bool
        var pause: Duration
        var probeAt: ContinuousClock.Instant
    }

    private struct State {
        var entries: [Shortage: Entry] = [:]
        /// The time at which each shortage was over, and its last pause.
        var ended: [Shortage: (at: ContinuousClock.Instant, pause: Duration)] = [:]
        /// Of each that was confirmed and counts as over: until when one that is met again is told
        /// of, and whether it was.
        var relapses: [Shortage: (until: ContinuousClock.Instant, isMet: Bool)] = [:]
        /// What pending renames wait for.
        var ofRenames: Set<Shortage> = []

        var confirmed: Set<Shortage> { Set(entries.filter(\.value.isConfirmed).keys) }
    }

    private let state = Mutex(State())
    private let news = WakeSignal()

    /// Creates an instance that knows no shortage.
    package init() {}

    /// The current shortages, in a fixed order; some of them concern a part of the tasks only, and
    /// stop no claims.
    package var current: [Shortage] { current(at: .now) }

    func current(at now: ContinuousClock.Instant) -> [Shortage] {
        state.withLock { state in
            let met = state.relapses.filter { $0.value.isMet && now < $0.value.until }.keys
            return state.confirmed.union(state.ofRenames).union(met).sorted()
        }
    }

    /// The shortages for which nothing is claimed, in a fixed order.
    var confirmed: [Shortage] { state.withLock { $0.confirmed.sorted() } }

    /// Whether tasks may be claimed.
    var isNone: Bool { state.withLock { !$0.entries.values.contains(where: \.isConfirmed) } }

    /// Records that something failed for lack of a resource.
    func note(_ shortage: Shortage, at now: ContinuousClock.Instant = .now) {
        let isNews = state.withLock { state in
            if let relapse = state.relapses[shortage], now < relapse.until {
                state.relapses[shortage] = (now + Self.relapseMax, true)
            }
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

    /// Records what pending renames wait for.
    func renamesWait(for shortages: Set<Shortage>) {
        state.withLock { $0.ofRenames = shortages }
    }

    /// Returns the shortages that are due for a probe, and the time until the next one is; nil when
    /// there is none.
    func due(at now: ContinuousClock.Instant = .now) -> (now: [Shortage], next: Duration?) {
        state.withLock { state in
            let due = state.entries.filter { $0.value.probeAt <= now }.keys.sorted()
            let next = state.entries.values.map(\.probeAt).min().map { max($0 - now, .zero) }
            return (due, next)
        }
    }

    /// Records whether a probe found a shortage over.
    func probed(_ shortage: Shortage, isOver: Bool, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            guard var entry = state.entries[shortage] else { return }
            guard !isOver else {
                state.entries[shortage] = nil
                if entry.isConfirmed {
                    state.relapses[shortage] = (now + Self.relapseMax, false)
                }
                state.ended[shortage] = (now, entry.isConfirmed ? entry.pause : Self.pauseMin)
                return
            }
            if entry.isConfirmed { entry.pause = min(entry.pause * 2, Self.pauseMax) }
            entry.isConfirmed = true
            entry.probeAt = now + entry.pause
            state.entries[shortage] = entry
        }
    }

    /// Returns when there is another shortage, or when the task is cancelled; for one waiting task
    /// at a time.
    func wait() async { await news.wait() }
}

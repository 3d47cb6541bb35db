import Logging
import PollLoop
import Synchronization
import TransferModel

/// The pending renames whose files cannot get their names yet because this machine is short of a
/// resource.
///
/// Each is tried until it succeeds, after pauses that grow. So far as there is room for them, they
/// stop no claims: one folder of one tenant may fail alone.
final class PostponedRenames: Sendable {
    private static let backoff = Backoff(base: .seconds(1), limit: .seconds(30))
    /// The time between two looks for those that are due.
    private static let interval: Duration = .seconds(1)
    /// The number from which on they stop claims.
    static let countMax = 32_768
    /// The maximum number tried at once, because others wait behind them.
    static let batchMax = 500

    private struct Entry {
        let pendingRename: PendingRename
        /// What this machine was short of at the last try.
        let shortage: Shortage?
        /// The number of tries that have failed.
        let failures: Int
        let dueAt: ContinuousClock.Instant
        /// Whether it is being tried.
        var isTaken = false
    }

    private struct State {
        /// The pending renames by fence, because one that was considered forgotten is submitted
        /// again.
        var entries: [Fence: Entry] = [:]
        /// How many of them wait for each resource.
        var counts: [Shortage: Int] = [:]
        var isStopped = false

        mutating func set(_ entry: Entry?, for fence: Fence) {
            let before = entries[fence]
            entries[fence] = entry
            if let shortage = before?.shortage {
                counts[shortage] = counts[shortage].flatMap { $0 > 1 ? $0 - 1 : nil }
            }
            if let shortage = entry?.shortage { counts[shortage, default: 0] += 1 }
        }
    }

    private let shortages: Shortages
    private let logger: Logger
    private let state = Mutex(State())
    private let arrival = WakeSignal()

    init(shortages: Shortages, logger: Logger) {
        self.shortages = shortages
        self.logger = logger
    }

    /// The fences of those that wait, or are being tried after a wait.
    var fences: Set<Fence> { state.withLock { Set($0.entries.keys) } }

    /// Whether there are few enough to claim further tasks.
    var hasRoom: Bool { state.withLock { $0.entries.count < Self.countMax } }

    /// Records that pending renames were tried, some of which have `failed`; these are planned
    /// again unless it was stopped: then they are left to whichever worker takes them over.
    func tried(
        _ fences: [Fence],
        failed: [(PendingRename, TransferFailure)],
        at now: ContinuousClock.Instant = .now
    ) {
        guard !fences.isEmpty else { return }
        let (before, after) = state.withLock { state in
            let before = state.entries.count
            guard !state.isStopped else { return (before, before) }
            let failures = failed.map { (state.entries[$0.0.fence]?.failures ?? 0) + 1 }
            for fence in fences { state.set(nil, for: fence) }
            for ((pendingRename, failure), failures) in zip(failed, failures) {
                let entry = Entry(
                    pendingRename: pendingRename,
                    shortage: failure.shortage,
                    failures: failures,
                    dueAt: now + Self.backoff.delay(failureCount: failures)
                )
                state.set(entry, for: pendingRename.fence)
            }
            tell(state)
            return (before, state.entries.count)
        }
        if before == 0, let failure = failed.first?.1, after > 0 {
            logger.warning(
                "files do not get their names, trying again",
                metadata: ["count": "\(after)", "error": "\(failure.message)"]
            )
        } else if before > 0, after == 0 {
            logger.notice("no file waits for its name any more")
        }
        if !failed.isEmpty { arrival.signal() }
    }

    /// Tells what they wait for; in the lock, so that the last that is told is the newest.
    private func tell(_ state: State) { shortages.renamesWait(for: Set(state.counts.keys)) }

    /// Waits until some are due for another try, which count as being tried then; nil when the task
    /// is cancelled.
    func next() async -> [PendingRename]? {
        while !Task.isCancelled {
            if state.withLock({ $0.entries.isEmpty }) { await arrival.wait() }
            do { try await Task.sleep(for: Self.interval.jittered) } catch { return nil }
            let due = takeDue()
            if !due.isEmpty { return due }
        }
        return nil
    }

    /// Takes those that have been due for longest.
    func takeDue(at now: ContinuousClock.Instant = .now) -> [PendingRename] {
        state.withLock { state in
            let due = state.entries.values.filter { !$0.isTaken && $0.dueAt <= now }
                .sorted { $0.dueAt < $1.dueAt }
                .prefix(Self.batchMax)
                .map(\.pendingRename)
            for pendingRename in due { state.entries[pendingRename.fence]?.isTaken = true }
            return due
        }
    }

    /// Stops accepting pending renames, and forgets those that wait.
    func stop() {
        state.withLock { state in
            state = State(isStopped: true)
            tell(state)
        }
    }
}

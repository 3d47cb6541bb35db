import Logging
import PollLoop
import TransferModel
import TransferStore

/// The handling of ends whose session is locked by another transaction, which may take minutes, and
/// of those over which the database fails for a reason of its own.
extension AttemptCompleter {
    /// The time for which an end is kept over which the database fails alone: what ails a server
    /// passes, and to forget the end would repeat a request; one row that is damaged stays so.
    private static let failureMax: Duration = .seconds(3600)
    /// The shortest pause between two tries; doubled as long as nothing could be stored.
    private static let heldUpPauseMin: Duration = .milliseconds(100)
    private static let heldUpPauseMax: Duration = .seconds(2)

    /// Returns a batch without the steps whose sessions are known to be held up; those join the
    /// waiting ones.
    func withoutHeldUp(_ batch: [CompletionStep]) async -> [CompletionStep] {
        let sessions = heldUp.sessions
        guard !sessions.isEmpty else { return batch }
        let owners: [TaskID: TaskSession]
        do throws(StoreError) {
            owners = try await writer.completions.sessions(of: batch.map(\.task))
        } catch {
            // Then storing the batch shows which sessions are held.
            return batch
        }
        let aside = batch.filter { owners[$0.task].map { sessions.contains($0.id) } ?? false }
        guard !aside.isEmpty else { return batch }
        for group in writer.distinct(aside, by: \.task) { setAside(group, owners) }
        return batch.filter { owners[$0.task].map { !sessions.contains($0.id) } ?? true }
    }

    /// Sets aside steps that could not be stored because of a lock.
    func setAside(
        _ steps: [CompletionStep],
        _ owners: [TaskID: TaskSession],
        failedAt: ContinuousClock.Instant? = nil
    ) {
        heldUp.add(steps, of: Set(steps.compactMap { owners[$0.task]?.id }), failedAt: failedAt)
    }

    /// Retries the waiting steps until cancelled; steps left then are found by their rows after the
    /// next start.
    func storeHeldUp() async {
        var pause = Self.heldUpPauseMin
        while true {
            await heldUp.wait()
            do { try await Task.sleep(for: pause.jittered) } catch { break }
            var isAnyStored = false
            for _ in 0..<heldUp.count {
                guard let group = heldUp.next() else { break }
                if await store(heldUp: group) { isAnyStored = true }
                heldUp.tried()
            }
            pause =
                isAnyStored ? Self.heldUpPauseMin : min(pause * 2, Self.heldUpPauseMax)
        }
        finished(heldUp.removeAll())
    }

    /// Tries the steps whose sessions are free now; a group that fails is tried again in halves,
    /// down to a single step.
    ///
    /// - Returns: whether anything was stored.
    private func store(heldUp group: HeldUpSteps<CompletionStep>.Group) async -> Bool {
        var owners: [TaskID: TaskSession] = [:]
        var free: [CompletionStep] = []
        do throws(StoreError) {
            owners = try await writer.completions.sessions(of: group.steps.map(\.task))
            let held = group.steps.filter { owners[$0.task]?.isHeld ?? false }
            setAside(held, owners, failedAt: group.failedAt)
            free = group.steps.filter { !(owners[$0.task]?.isHeld ?? false) }
            guard !free.isEmpty else { return false }
            let changed = try await change(free)
            await ended(free, changed: changed)
            return true
        } catch {
            if free.isEmpty { free = group.steps }
            let failedAt: ContinuousClock.Instant? =
                error.isInternal ? (group.failedAt ?? .now) : group.failedAt
            // Of a failure of the database, nobody else in these sessions has to wait for the end.
            let known = error.isInternal ? [:] : owners
            // Whether the database is unavailable or refuses, the outcome is decided below.
            guard free.count > 1, error.isContended || !error.isUnavailable else {
                guard error.isUnavailable || Self.isKept(error, since: failedAt) else {
                    logger.error("result not stored", metadata: ["error": "\(error)"])
                    finished(free.count)
                    return false
                }
                setAside(free, known, failedAt: failedAt)
                return false
            }
            let half = free.count / 2
            setAside(Array(free[..<half]), known, failedAt: failedAt)
            setAside(Array(free[half...]), known, failedAt: failedAt)
            return false
        }
    }

    private static func isKept(
        _ error: StoreError,
        since failedAt: ContinuousClock.Instant?
    ) -> Bool {
        error.isInternal && (failedAt.map { .now - $0 < failureMax } ?? false)
    }
}

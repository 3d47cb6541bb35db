import Logging
import TransferModel
import TransferStore

/// What becomes of ends whose session is held by somebody else, who may be at it for minutes.
extension Publisher {
    /// Between two tries; doubled as long as nothing could be stored.
    private static let heldUpPauseMin: Duration = .milliseconds(100)
    private static let heldUpPauseMax: Duration = .seconds(2)

    /// Leaves out those of a batch whose sessions are known to be held up; they join what waits.
    nonisolated func withoutHeldUp(_ batch: [Step]) async -> [Step] {
        let sessions = heldUp.sessions
        guard !sessions.isEmpty else { return batch }
        let owners: [TaskID: TaskSession]
        do throws(StoreError) {
            owners = try await stores.completions.sessions(of: batch.map(\.task))
        } catch {
            // Then the batch finds out by itself.
            return batch
        }
        let aside = batch.filter { owners[$0.task].map { sessions.contains($0.id) } ?? false }
        guard !aside.isEmpty else { return batch }
        for group in distinct(aside, by: \.task) { setAside(group, owners) }
        return batch.filter { owners[$0.task].map { !sessions.contains($0.id) } ?? true }
    }

    /// Lets steps wait that could not be stored because of a lock.
    nonisolated func setAside(_ steps: [Step], _ owners: [TaskID: TaskSession]) {
        heldUp.add(steps, of: Set(steps.compactMap { owners[$0.task]?.id }))
    }

    /// Tries again and again what waits, until cancelled; what is left then is found by its rows
    /// after the next start.
    nonisolated func storeHeldUp() async {
        var pause = Self.heldUpPauseMin
        while true {
            await heldUp.wait()
            do { try await Task.sleep(for: pause.jittered) } catch { break }
            var isAnyStored = false
            for _ in 0..<heldUp.count {
                guard let group = heldUp.next() else { break }
                if await store(heldUp: group.steps) { isAnyStored = true }
                heldUp.tried()
            }
            pause =
                isAnyStored ? Self.heldUpPauseMin : min(pause * 2, Self.heldUpPauseMax)
        }
        finished(heldUp.removeAll())
    }

    /// Tries what nobody holds now; what fails is tried again by halves, until it is alone.
    ///
    /// - Returns: whether anything was stored.
    private nonisolated func store(heldUp steps: [Step]) async -> Bool {
        var owners: [TaskID: TaskSession] = [:]
        var free: [Step] = []
        do throws(StoreError) {
            owners = try await stores.completions.sessions(of: steps.map(\.task))
            let held = steps.filter { owners[$0.task]?.isHeld ?? false }
            setAside(held, owners)
            free = steps.filter { !(owners[$0.task]?.isHeld ?? false) }
            guard !free.isEmpty else { return false }
            let changed = try await change(free)
            await ended(free, changed: changed)
            return true
        } catch {
            if free.isEmpty { free = steps }
            // Whether the database is away or refuses, what comes of it is decided below.
            guard free.count > 1, error.isContended || !error.isUnavailable else {
                guard error.isUnavailable else {
                    logger.error("result not stored", metadata: ["error": "\(error)"])
                    finished(free.count)
                    return false
                }
                setAside(free, owners)
                return false
            }
            let half = free.count / 2
            setAside(Array(free[..<half]), owners)
            setAside(Array(free[half...]), owners)
            return false
        }
    }
}

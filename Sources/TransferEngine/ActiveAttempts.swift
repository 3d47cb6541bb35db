import Synchronization
import TransferModel

/// The attempts this worker is running, and the slots they take.
final class ActiveAttempts: Sendable {
    private struct State {
        var attempts: [Fence: any TransferAttempt] = [:]
        var perLane: [Lane: Int] = [:]
        /// What was stored of each attempt's progress, but for those that never lasted.
        var stored: [Fence: Stored] = [:]
        /// How fast each attempt is, and what was told of it in events.
        var paces: [Fence: Pace] = [:]
        /// Attempts that wait for an earlier one of their task to let go of its file.
        var postponed: [TaskID: TaskClaim] = [:]
        var isClosed = false
    }

    private struct Pace {
        var rate: RecentRate
        var toldBytes: Int64 = 0
        var toldAt: ContinuousClock.Instant

        /// Whether an event is to tell of so many bytes now: forward only, and not too often.
        mutating func tells(
            _ bytes: Int64,
            every interval: Duration,
            at now: ContinuousClock.Instant
        ) -> Bool {
            guard bytes > toldBytes, now - toldAt >= interval else { return false }
            toldBytes = bytes
            toldAt = now
            return true
        }
    }

    private struct Stored {
        var received: Int64 = 0
        var sent: Int64 = 0
        var bytesPerSecond: Int64 = 0
        /// Names the part file of the last checkpoint.
        var partFence: Fence?
        var isResumptionTold = false
    }

    private let state = Mutex(State())

    /// How many attempts are running.
    var count: Int { state.withLock { $0.attempts.count } }

    /// How many connections each busy host has.
    var busy: [Lane: Int] { state.withLock { $0.perLane } }

    /// Whether the attempt with that fence is running.
    func contains(_ fence: Fence) -> Bool { state.withLock { $0.attempts[fence] != nil } }

    /// Takes a slot.
    ///
    /// - Returns: false when the worker is stopping and the attempt must be given back.
    func insert(_ attempt: any TransferAttempt) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.attempts[attempt.claim.fence] = attempt
            state.perLane[attempt.claim.lane, default: 0] += 1
            return true
        }
    }

    /// Frees the slot of an ended attempt.
    ///
    /// - Returns: the attempt of the same task that has waited for that, if any.
    func remove(_ claim: TaskClaim) -> TaskClaim? {
        state.withLock { state in
            guard state.attempts.removeValue(forKey: claim.fence) != nil else { return nil }
            state.stored[claim.fence] = nil
            state.paces[claim.fence] = nil
            let rest = (state.perLane[claim.lane] ?? 1) - 1
            state.perLane[claim.lane] = rest > 0 ? rest : nil
            return state.postponed.removeValue(forKey: claim.task)
        }
    }

    /// Puts an attempt off until another one of its task, which was taken away from this worker
    /// and is just ending, has let go of the file.
    ///
    /// - Returns: false when there is no such one.
    func postpone(_ claim: TaskClaim) -> Bool {
        guard claim.partial != nil else { return false }
        return state.withLock { state in
            guard state.attempts.values.contains(where: { $0.claim.task == claim.task }) else {
                return false
            }
            state.postponed[claim.task] = claim
            return true
        }
    }

    /// The attempts with these fences.
    func attempts(_ fences: [Fence]) -> [any TransferAttempt] {
        state.withLock { state in fences.compactMap { state.attempts[$0] } }
    }

    /// Forgets attempts that were put off and then taken away.
    func drop(postponed fences: [Fence]) {
        state.withLock { state in
            state.postponed = state.postponed.filter { !fences.contains($0.value.fence) }
        }
    }

    /// All attempts; with `closing` no further one is let in, else those put off are forgotten.
    func all(closing: Bool) -> [any TransferAttempt] {
        state.withLock { state in
            if closing { state.isClosed = true } else { state.postponed = [:] }
            return Array(state.attempts.values)
        }
    }

    /// What is new of the running attempts since the last call.
    func takeProgress(
        at instant: ContinuousClock.Instant = .now
    ) -> (progress: [AttemptProgress], resumptions: [Resumption]) {
        state.withLock { state in
            var progress: [AttemptProgress] = []
            var resumptions: [Resumption] = []
            for (fence, attempt) in state.attempts {
                let now = attempt.progress
                var stored = state.stored[fence] ?? Stored()
                let checkpoint =
                    stored.partFence == now.checkpoint?.partFence ? nil : now.checkpoint
                if let resumption = now.resumption, !stored.isResumptionTold {
                    resumptions.append(resumption)
                    stored.isResumptionTold = true
                    state.stored[fence] = stored
                }
                let moved = now.received + now.sent
                var pace =
                    state.paces[fence]
                    ?? Pace(
                        rate: RecentRate(moved, at: instant),
                        // What earlier attempts have left is no news.
                        toldBytes: attempt.claim.partial == nil ? 0 : moved,
                        toldAt: instant
                    )
                pace.rate.note(moved, at: instant)
                let isTold =
                    attempt.claim.options.progressInterval.map {
                        pace.tells(moved, every: $0, at: instant)
                    } ?? false
                state.paces[fence] = pace
                let hasMoved =
                    now.received != stored.received || now.sent != stored.sent
                    || pace.rate.value != stored.bytesPerSecond
                guard hasMoved || isTold || checkpoint != nil else { continue }
                progress.append(
                    AttemptProgress(
                        task: attempt.claim.task,
                        fence: fence,
                        bytesReceived: now.received,
                        bytesExpected: now.expected,
                        bytesSent: now.sent,
                        bytesToSend: now.toSend,
                        bytesPerSecond: pace.rate.value,
                        isTold: isTold,
                        checkpoint: checkpoint
                    )
                )
                stored.received = now.received
                stored.sent = now.sent
                stored.bytesPerSecond = pace.rate.value
                stored.partFence = now.checkpoint?.partFence
                state.stored[fence] = stored
            }
            return (progress, resumptions)
        }
    }

    /// Forgets that something was stored, because it was not.
    func restore() {
        state.withLock { $0.stored = [:] }
    }
}

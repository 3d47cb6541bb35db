import Synchronization
import TransferModel

/// The attempts this worker is running, and the slots they take.
final class ActiveAttempts: Sendable {
    private struct State {
        var attempts: [Fence: any TransferAttempt] = [:]
        var perLane: [Lane: Int] = [:]
        /// What was stored of each attempt's progress, but for those that never lasted.
        var stored: [Fence: Stored] = [:]
        /// Attempts that wait for an earlier one of their task to let go of its file.
        var postponed: [TaskID: TaskClaim] = [:]
        var isClosed = false
    }

    private struct Stored {
        var received: Int64 = 0
        var sent: Int64 = 0
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
    func takeProgress() -> (progress: [AttemptProgress], resumptions: [Resumption]) {
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
                let hasMoved = now.received != stored.received || now.sent != stored.sent
                guard hasMoved || checkpoint != nil else { continue }
                progress.append(
                    AttemptProgress(
                        task: attempt.claim.task,
                        fence: fence,
                        bytesReceived: now.received,
                        bytesExpected: now.expected,
                        bytesSent: now.sent,
                        bytesToSend: now.toSend,
                        checkpoint: checkpoint
                    )
                )
                stored.received = now.received
                stored.sent = now.sent
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

import Synchronization

/// Who this instance is to the database, and the source of its fences.
package final class WorkerIdentity: Sendable {
    /// Fences that belong to one incarnation, counted up from `first`.
    package struct Reservation: Sendable {
        /// The registration they belong to.
        package let incarnation: Int32
        /// The first of them.
        package let first: Fence
    }

    private struct State {
        var incarnation: Int32
        var used: Int64 = 0
        var trustedUntil: ContinuousClock.Instant?

        func isTrusted(at now: ContinuousClock.Instant) -> Bool {
            trustedUntil.map { now < $0 } ?? true
        }
    }

    private let state: Mutex<State>

    /// - Parameter incarnation: as the worker's registration gave it out.
    package init(incarnation: Int32) { state = Mutex(State(incarnation: incarnation)) }

    /// The current registration.
    package var incarnation: Int32 { state.withLock { $0.incarnation } }

    /// Begins a new life after others declared this worker dead.
    package func adopt(incarnation: Int32) {
        state.withLock { $0 = State(incarnation: incarnation) }
    }

    /// Takes note that nobody takes over from this worker before `instant`, which its last sign of
    /// life has won; by the clock of this machine, which goes on while the process is stopped.
    package func trust(until instant: ContinuousClock.Instant) {
        state.withLock { $0.trustedUntil = instant }
    }

    /// Whether what is claimed now cannot belong to another worker yet.
    package func isTrusted(at now: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.isTrusted(at: now) }
    }

    /// Whether what was claimed under `fence` cannot belong to another worker yet: for what is done
    /// outside of the database, where no fence stops it.
    ///
    /// - Returns: true also while nobody has said until when.
    package func isTrusted(_ fence: Fence, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            fence.incarnation == state.incarnation && state.isTrusted(at: now)
        }
    }

    /// Takes `count` fences that nobody else will get.
    package func reserve(_ count: Int) -> Reservation {
        state.withLock { state in
            let first = Fence(incarnation: state.incarnation, counter: state.used)
            state.used += Int64(count)
            return Reservation(incarnation: state.incarnation, first: first)
        }
    }
}

import Synchronization

/// The identity of this instance in the database, and the source of its fences.
package final class WorkerIdentity: Sendable {
    /// Consecutive fences of one incarnation, starting with `first`.
    package struct Reservation: Sendable {
        /// The registration that the fences belong to.
        package let incarnation: Int32
        /// The first of the fences.
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

    /// - Parameter incarnation: the incarnation that the worker's registration gave out.
    package init(incarnation: Int32) { state = Mutex(State(incarnation: incarnation)) }

    /// The current registration.
    package var incarnation: Int32 { state.withLock { $0.incarnation } }

    /// Starts over with a new incarnation after others declared this worker dead.
    package func adopt(incarnation: Int32) {
        state.withLock { $0 = State(incarnation: incarnation) }
    }

    /// Records that nobody takes over from this worker before `instant`.
    ///
    /// The worker's latest heartbeat gained that time. It is measured by this machine's clock,
    /// which keeps running while the process is stopped.
    package func trust(until instant: ContinuousClock.Instant) {
        state.withLock { $0.trustedUntil = instant }
    }

    /// Whether a task claimed now cannot belong to another worker yet.
    package func isTrusted(at now: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.isTrusted(at: now) }
    }

    /// Whether a task claimed under `fence` cannot belong to another worker yet.
    ///
    /// This guards work outside the database, where no fence stops it.
    ///
    /// - Returns: true also while no instant has been set.
    package func isTrusted(_ fence: Fence, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            fence.incarnation == state.incarnation && state.isTrusted(at: now)
        }
    }

    /// Reserves `count` fences that nobody else will get.
    package func reserve(_ count: Int) -> Reservation {
        state.withLock { state in
            let first = Fence(incarnation: state.incarnation, counter: state.used)
            state.used += Int64(count)
            return Reservation(incarnation: state.incarnation, first: first)
        }
    }
}

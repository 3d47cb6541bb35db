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

    private let state: Mutex<(incarnation: Int32, used: Int64)>

    /// - Parameter incarnation: as the worker's registration gave it out.
    package init(incarnation: Int32) { state = Mutex((incarnation, 0)) }

    /// The current registration.
    package var incarnation: Int32 { state.withLock { $0.incarnation } }

    /// Begins a new life after others declared this worker dead.
    package func adopt(incarnation: Int32) { state.withLock { $0 = (incarnation, 0) } }

    /// Takes `count` fences that nobody else will get.
    package func reserve(_ count: Int) -> Reservation {
        state.withLock { state in
            let first = Fence(incarnation: state.incarnation, counter: state.used)
            state.used += Int64(count)
            return Reservation(incarnation: state.incarnation, first: first)
        }
    }
}

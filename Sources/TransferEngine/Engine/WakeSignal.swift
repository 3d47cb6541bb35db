import Synchronization

/// A signal for which one loop waits until there is something to do; several signals before a wait
/// count as one.
package final class WakeSignal: Sendable {
    private enum State {
        case idle
        case signalled
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.idle)

    /// Creates a signal that is not set.
    package init() {}

    /// Ends the current wait, or makes the next one return at once.
    package func signal() {
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard case .waiting(let continuation) = state else {
                state = .signalled
                return nil
            }
            state = .idle
            return continuation
        }
        waiter?.resume()
    }

    /// Returns after a signal, or when the task is cancelled; for one waiting task at a time.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSignalled = state.withLock { state in
                    if Task.isCancelled { return true }
                    guard case .signalled = state else {
                        state = .waiting(continuation)
                        return false
                    }
                    state = .idle
                    return true
                }
                if isSignalled { continuation.resume() }
            }
        } onCancel: {
            signal()
        }
    }
}

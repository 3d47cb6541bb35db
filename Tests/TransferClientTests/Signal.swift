import Synchronization

/// Something that happens once, and that others wait for.
final class Signal: Sendable {
    private struct State {
        var hasFired = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func fire() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            state.hasFired = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until it happens, or until the test is cancelled, which would otherwise never end.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasFired = state.withLock { state in
                    if !state.hasFired { state.waiters.append(continuation) }
                    return state.hasFired
                }
                if hasFired { continuation.resume() }
            }
        } onCancel: {
            fire()
        }
    }
}

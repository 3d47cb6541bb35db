import Foundation
import Synchronization

/// A value behind a lock, and those who wait for what becomes of it.
final class Watched<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var waiters: [UUID: CheckedContinuation<Void, Never>] = [:]
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    /// Reads the value, or changes it in a way that nobody waits for.
    func withLock<Output: Sendable>(_ body: (inout Value) -> Output) -> Output {
        state.withLock { body(&$0.value) }
    }

    /// Changes the value, and lets all who wait look again.
    @discardableResult
    func change<Output: Sendable>(_ change: (inout Value) -> Output) -> Output {
        let (output, waiters) = state.withLock { state in
            let output = change(&state.value)
            defer { state.waiters = [:] }
            return (output, Array(state.waiters.values))
        }
        for waiter in waiters { waiter.resume() }
        return output
    }

    /// Waits until there is what `find` looks for in the value.
    ///
    /// - Throws: ``TransferError`` with the code `cancelled` when the caller is cancelled before.
    func first<Found: Sendable>(
        _ find: @escaping @Sendable (Value) -> Found?
    ) async throws(TransferError) -> Found {
        while true {
            if let found = state.withLock({ find($0.value) }) { return found }
            await look(again: UUID()) { find($0) == nil }
            guard !Task.isCancelled else {
                throw TransferError(.cancelled, "The caller was cancelled.")
            }
        }
    }

    /// Waits while something holds for the value; otherwise like ``first(_:)``.
    func wait(
        while isPending: @escaping @Sendable (Value) -> Bool
    ) async throws(TransferError) {
        _ = try await first { isPending($0) ? nil : true }
    }

    /// Waits for the next change, unless the caller is cancelled or need not wait any more.
    private func look(again waiter: UUID, if isPending: @Sendable (Value) -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard isPending(state.value), !Task.isCancelled else { return true }
                    state.waiters[waiter] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
        }
    }
}

import Foundation

/// Runs `work` on a thread of its own; for calls that block, such as reads of a socket.
///
/// When as many tests block as the cooperative pool has threads, a server in the same process takes
/// no connection until one of them has waited in vain. The threads of Dispatch are the pool's, too.
package func onThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

import Foundation

/// Runs `body`, which blocks, on a thread of its own instead of one of the few shared ones.
func onOwnThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws(EmbeddedPostgresError) -> Value
) async throws(EmbeddedPostgresError) -> Value {
    let result = await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<Value, EmbeddedPostgresError>, Never>) in
        Thread.detachNewThread {
            continuation.resume(returning: Result(catching: body))
        }
    }
    return try result.get()
}

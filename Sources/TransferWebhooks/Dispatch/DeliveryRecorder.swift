import Foundation
import PollLoop
import TransferStore

/// The writer of what came of messages, which outlasts short outages of the database.
struct DeliveryRecorder: Sendable {
    /// The pauses between tries.
    private static let backoff = Backoff()

    let outages: OutageLog
    let stopping: StopFlag

    /// Writes a record, and retries while the database is away and the lease lasts.
    ///
    /// A lost record costs the receiver a second copy of the message.
    ///
    /// - Returns: what the store answered, or `stale` when it was not written.
    func record<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        whenStale stale: Value,
        _ verb: @escaping @Sendable () async throws(StoreError) -> Value
    ) async -> Value {
        var failureCount = 0
        while true {
            // Unstructured, because a shutdown cancels this task but cannot undo what is recorded.
            let result = await Task { () async -> Result<Value, StoreError> in
                do throws(StoreError) {
                    return .success(try await verb())
                } catch {
                    return .failure(error)
                }
            }.value
            switch result {
            case .success(let value):
                return value
            case .failure(let error):
                outages.failed(error)
                failureCount += 1
                let pause = Self.backoff.delay(failureCount: failureCount)
                guard case .unavailable = error, !stopping.isSet, !Task.isCancelled,
                    .now + pause < deadline
                else {
                    return stale
                }
                try? await Task.sleep(for: pause)
            }
        }
    }
}

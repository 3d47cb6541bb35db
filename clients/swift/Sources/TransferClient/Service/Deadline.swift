/// Runs an operation that is cancelled when it takes longer than `limit`.
func withDeadline<Value: Sendable>(
    _ limit: Duration,
    _ operation: @escaping @Sendable () async throws(TransferError) -> Value
) async -> Result<Value, TransferError> {
    await withTaskGroup(of: Result<Value, TransferError>?.self) { group in
        group.addTask {
            do throws(TransferError) {
                return .success(try await operation())
            } catch {
                return .failure(error)
            }
        }
        group.addTask {
            do {
                try await Task.sleep(for: limit)
                return .failure(
                    TransferError(.timedOut, "The service did not respond in time.")
                )
            } catch {
                // The operation has ended, or the caller is cancelled, which ends it.
                return nil
            }
        }
        defer { group.cancelAll() }
        while let result = await group.next() {
            if let result { return result }
        }
        return .failure(TransferError(.cancelled, "The request was cancelled."))
    }
}

import Logging
import TransferModel
import TransferStore

/// Stores for exchanges, which do not wait for the database themselves, where their origins
/// continue uploads.
struct UploadResourceKeeper: Sendable {
    let store: UploadResourceStore
    let logger: Logger

    /// Stores a resource, and calls `then` with whether it is kept.
    func keep(
        _ resource: UploadResource,
        of claim: TaskClaim,
        then: @escaping @Sendable (Bool) -> Void
    ) {
        run(then) { () throws(StoreError) in try await store.keep(resource, of: claim) }
    }

    /// Forgets a resource, and calls `then` with whether it is forgotten.
    func forget(
        _ resource: UploadResource,
        of task: TaskID,
        then: @escaping @Sendable (Bool) -> Void
    ) {
        run(then) { () throws(StoreError) in
            try await store.forget(resource, of: task)
            return true
        }
    }

    /// The attempt has its slot until `then` is called, so that a stopping worker waits for it.
    private func run(
        _ then: @escaping @Sendable (Bool) -> Void,
        _ change: @escaping @Sendable () async throws(StoreError) -> Bool
    ) {
        // The curl loop's thread does not wait for it.
        Task {
            do throws(StoreError) {
                then(try await change())
            } catch {
                logger.notice("resource of an upload not stored", metadata: ["error": "\(error)"])
                then(false)
            }
        }
    }
}

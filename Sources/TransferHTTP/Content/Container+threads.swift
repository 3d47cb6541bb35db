import NIOPosix
import TransferContainer

extension Container {
    /// Runs `body`, which waits for the container's disk, on `threads`.
    ///
    /// - Throws: ``Problem`` in place of a ``StorageError``, or what else `body` throws.
    func run<Value: Sendable>(
        on threads: NIOThreadPool,
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await threads.runIfActive(body)
        } catch let error as StorageError {
            throw Problem(error, in: self)
        }
    }
}

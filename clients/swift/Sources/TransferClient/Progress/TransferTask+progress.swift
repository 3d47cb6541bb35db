public import Foundation

extension TransferTask {
    /// The bytes of the task as Foundation shows progress.
    ///
    /// They are those of its result, or, of an upload, those that its URL has been sent. The
    /// progress is indeterminate while their number is unknown.
    ///
    /// To cancel, pause or resume the progress is to cancel, suspend or resume the task, as with
    /// URLSession. If that fails, the session's delegate is told.
    public var progress: Progress { mirror(orMaking: makeMirror).progress }

    private func makeMirror() -> ProgressMirror {
        let mirror = ProgressMirror { [weak self] in self?.progressValues }
        let progress = mirror.progress
        progress.isCancellable = true
        progress.cancellationHandler = { [weak self] in
            self?.attempt { task throws(TransferError) in try await task.cancel() }
        }
        progress.isPausable = true
        progress.pausingHandler = { [weak self] in
            self?.attempt { task throws(TransferError) in try await task.suspend() }
        }
        progress.resumingHandler = { [weak self] in self?.resume() }
        return mirror
    }

    /// Makes a call whose failure the caller cannot be told.
    private func attempt(
        _ call: @escaping @Sendable (TransferTask) async throws(TransferError) -> Void
    ) {
        // A `Progress` awaits nothing; the delegate learns of a failure.
        Task {
            do throws(TransferError) {
                try await call(self)
            } catch {
                session.tellFailure(of: self, error)
            }
        }
    }
}

package import TransferModel

/// The result of a change of a run.
package enum RunChangeResult: Sendable {
    case changed(BackgroundTaskRun)
    /// It had ended before.
    case ended(BackgroundTaskRun)
    case unknown
}

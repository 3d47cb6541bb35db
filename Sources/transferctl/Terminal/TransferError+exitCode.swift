import ArgumentParser
import TransferClient

extension TransferError {
    /// The exit code of a command that ends with this error: 1 when a transfer failed or a file of
    /// this machine could not be used, 2 when the service refused or could not be reached.
    var exitCode: ExitCode {
        guard failure == nil else { return ExitCode(1) }
        switch code {
        // A task that somebody else has cancelled is a transfer that failed.
        case .fileFailure, .fileExists, .cancelled: return ExitCode(1)
        default: return ExitCode(2)
        }
    }
}

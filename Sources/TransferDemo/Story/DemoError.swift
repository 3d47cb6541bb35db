import ChildProcess

/// The reasons why the demo could not be completed.
enum DemoError: Error, CustomStringConvertible {
    /// Another program has the directory, or the disk is full.
    case directoryNotCreated(String)
    /// The program is missing, or ended before it listened; its log says why.
    case serviceNotStarted(reason: String)
    /// The command that shows the progress could not use the service.
    case commandFailed(String, ChildProcess.Exit)
    /// The demo took longer than `--deadline`.
    case deadlineExceeded(seconds: Int)
    /// The user pressed Ctrl-C.
    case interrupted

    var description: String {
        switch self {
        case .directoryNotCreated(let path): "\(path) could not be created"
        case .serviceNotStarted(let reason): "the service did not start: \(reason)"
        case .commandFailed(let command, let exit): "\(command): \(exit)"
        case .deadlineExceeded(let seconds): "not done after \(seconds) seconds"
        case .interrupted: "interrupted"
        }
    }
}

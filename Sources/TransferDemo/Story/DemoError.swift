/// The reasons why the demo could not be completed.
enum DemoError: Error, CustomStringConvertible {
    /// Another program has the directory, or the disk is full.
    case directoryNotCreated(String)
    /// The program is missing, or ended before it listened; its log says why.
    case serviceNotStarted(reason: String)
    /// The service did not answer.
    case unreachable(request: String, reason: String)
    /// The service answered with something other than the API promises.
    case unexpectedAnswer(request: String, status: Int, body: String)
    /// The demo took longer than `--deadline`.
    case deadlineExceeded(seconds: Int)
    /// The user pressed Ctrl-C.
    case interrupted

    var description: String {
        switch self {
        case .directoryNotCreated(let path): "\(path) could not be created"
        case .serviceNotStarted(let reason): "the service did not start: \(reason)"
        case .unreachable(let request, let reason): "\(request): \(reason)"
        case .unexpectedAnswer(let request, let status, let body):
            "\(request) was answered with \(status) \(body)"
        case .deadlineExceeded(let seconds): "not done after \(seconds) seconds"
        case .interrupted: "interrupted"
        }
    }
}

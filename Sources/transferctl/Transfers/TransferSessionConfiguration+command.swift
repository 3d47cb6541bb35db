import TransferClient

extension TransferSessionConfiguration {
    /// Returns the configuration of a command that waits for what it submits to a session.
    ///
    /// Another command with this session, or a program, leaves that alone while this one runs.
    static func command(_ session: String) -> Self {
        var configuration = background(withIdentifier: session)
        configuration.owner = "transferctl"
        return configuration
    }
}

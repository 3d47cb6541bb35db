import TransferClient
import TransferWire

extension TransferError {
    /// The line with which a command ends: the error as it is, but for advice that names a
    /// parameter of the service where the command has no such option.
    var line: String {
        guard problem?.code == .eventsExpired else { return description }
        return """
            \(code.rawValue): Events were removed before they were read, or another session has \
            the name now. Start the command again.
            """
    }
}

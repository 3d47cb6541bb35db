import TransferClient
import TransferWire

extension TransferError {
    /// The line with which a command ends: the error as it is, but for advice that names a
    /// parameter of the service where the command has no such option.
    ///
    /// Only `listen` names an address, that of this machine.
    var line: String {
        if faults.contains(where: { $0.code == .forbiddenAddress }) {
            return """
                \(code.rawValue): The service may not reach this machine; it does when it is \
                started with `--allow-network 127.0.0.0/8`, as by `make run`.
                """
        }
        guard problem?.code == .eventsExpired else { return description }
        return """
            \(code.rawValue): Events were removed before they were read, or another session has \
            the name now. Start the command again.
            """
    }
}

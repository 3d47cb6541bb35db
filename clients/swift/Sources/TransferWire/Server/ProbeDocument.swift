/// The body of `/livez` and `/readyz`.
public struct ProbeDocument: Codable, Sendable {
    /// The status: `pass` or `fail`.
    public let status: String
    /// The reason why the service is not ready.
    public let reason: String?

    /// Creates the value from its parts.
    public init(status: String, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }
}

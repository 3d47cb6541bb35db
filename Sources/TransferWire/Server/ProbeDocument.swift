/// The body of `/livez` and `/readyz`.
package struct ProbeDocument: Codable, Sendable {
    /// The status: `pass` or `fail`.
    package let status: String
    /// The reason why the service is not ready.
    package let reason: String?

    package init(status: String, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }
}

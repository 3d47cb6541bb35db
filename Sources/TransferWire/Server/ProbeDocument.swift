/// The body of `/livez` and `/readyz`.
package struct ProbeDocument: Codable, Sendable {
    /// `pass` or `fail`.
    package let status: String
    /// Why it is not ready.
    package let reason: String?

    package init(status: String, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }
}

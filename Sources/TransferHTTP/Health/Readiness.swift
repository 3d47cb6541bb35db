/// The readiness of the service to accept work now.
package enum Readiness: Equatable, Sendable {
    case ready
    /// The service cannot accept work; the reason is for operators, a few words without secrets.
    case notReady(reason: String)
}

/// Whether the service can take work now.
package enum Readiness: Equatable, Sendable {
    case ready
    /// The reason is for operators: a few words, no secrets.
    case notReady(reason: String)
}

/// A part of the API that a key may use.
package enum KeyScope: String, CaseIterable, Hashable, Sendable {
    /// Reads what the tenant has: sessions, tasks, files, events, subscriptions and limits.
    case read
    /// Creates clients, sessions, tasks and requests of background tasks, and sends the bytes of
    /// uploads; with ``read`` also files that the tenant keeps.
    case submit
    /// Changes and ends what exists, answers questions, and manages credentials and certificate
    /// authorities.
    case control
    /// Manages subscriptions and their deliveries, and acknowledges messages.
    case webhooks
    /// Manages the tenant's keys.
    case admin

    /// The scopes of a key that was created without naming any: all but ``admin``.
    package static let defaults: Set<KeyScope> = [.read, .submit, .control, .webhooks]
}

extension Set<KeyScope> {
    /// The names of the scopes, in the order in which they are declared.
    package var names: [String] {
        KeyScope.allCases.filter(contains).map(\.rawValue)
    }
}

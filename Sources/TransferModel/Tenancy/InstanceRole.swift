/// A part of the service's work; an instance does all parts unless its operator divides them.
package enum InstanceRole: String, CaseIterable, Hashable, Sendable {
    /// Answers clients.
    case api
    /// Transfers files and maintains the queue: promotes due tasks, takes over from dead workers,
    /// prunes.
    case worker
    /// Delivers events to subscriptions.
    case webhooks
}

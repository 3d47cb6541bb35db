/// What an instance does for the service; all of it unless its operator divides the work.
package enum InstanceRole: String, CaseIterable, Hashable, Sendable {
    /// Answers clients.
    case api
    /// Transfers, and keeps the house: promotes what is due, takes over from the dead, prunes.
    case worker
    /// Delivers events to subscriptions.
    case webhooks
}

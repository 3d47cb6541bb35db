/// What the messages of a subscription hold; part of the API, never renamed.
package enum DeliveryForm: String, CaseIterable, Sendable {
    /// One event each.
    case single
    /// The next events of a session together; `session.events_finished` always alone.
    case batch
}

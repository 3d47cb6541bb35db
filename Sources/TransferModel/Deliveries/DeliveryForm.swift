/// The content of a subscription's messages; part of the API, never renamed.
package enum DeliveryForm: String, CaseIterable, Sendable {
    /// One event in each message.
    case single
    /// The next events of a session together, but `session.events_finished` always alone.
    case batch
}

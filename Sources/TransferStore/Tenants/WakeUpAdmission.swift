/// Whether a `session.events_finished` may be sent now.
package enum WakeUpAdmission: Equatable, Sendable {
    /// The event may be sent, and counts as sent.
    case admitted
    /// The delivery was set to wait, and its claim has ended.
    case postponed
    /// The claim is stale, or another wake-up was just sent: nothing was changed.
    case undecided
}

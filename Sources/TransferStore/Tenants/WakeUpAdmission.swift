/// Whether a `session.events_finished` may be sent now.
package enum WakeUpAdmission: Equatable, Sendable {
    /// It counts as sent.
    case admitted
    /// It was set to wait, and its claim has ended.
    case postponed
    /// The claim is stale, or another wake-up was just sent: nothing was done.
    case undecided
}

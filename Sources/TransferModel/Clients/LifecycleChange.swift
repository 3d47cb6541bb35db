/// A move of a client from one state of life to another.
package struct LifecycleChange: Equatable, Sendable {
    /// The cause of a move; the raw value is the one in the API and in the database.
    package enum Reason: String, CaseIterable, Sendable {
        /// The client, or an operator, asked for it.
        case requested
        /// The time after entering the background was over, and no assertion was held.
        case graceEnded = "grace_ended"
        /// An assertion was still held when the time of the assertions was over.
        case assertionLeaked = "assertion_leaked"
    }

    package let from: Client.Lifecycle
    package let to: Client.Lifecycle
    package let reason: Reason

    package init(from: Client.Lifecycle, to: Client.Lifecycle, reason: Reason) {
        self.from = from
        self.to = to
        self.reason = reason
    }
}

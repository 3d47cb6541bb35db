package import Foundation

/// What a pending request waits for.
package struct RequestWait: Equatable, Sendable {
    /// The reason of a wait; the raw value is the one in the API and in the database.
    package enum Reason: String, CaseIterable, Sendable {
        /// Its earliest begin, or its next occurrence.
        case date
        /// The least time between two launches.
        case interval
        /// The time after a launch that nobody has accepted.
        case relaunch
        /// The network, which it requires.
        case network
        /// Idle capacity, which it requires.
        case capacity
        /// The end of the running launch of its identifier.
        case run
        /// The end of any of the client's runs, of which it has as many as it may.
        case budget
        /// A subscription that is enabled again.
        case subscription
        /// The launch of its client, which was force-quit.
        case clientForceQuit = "client_force_quit"
        /// The tenant, which has background tasks switched off.
        case disabled

        /// Whether the wait ends at a known time.
        package var isTimed: Bool { self == .date || self == .interval || self == .relaunch }
    }

    package let reason: Reason
    package let since: Date
    /// The time at which the wait ends; nil if that is unknown.
    package let until: Date?

    package init(reason: Reason, since: Date, until: Date?) {
        self.reason = reason
        self.since = since
        self.until = until
    }
}

package import Foundation

/// An app of a tenant or an extension of one, as in URLSession.
package struct Client: Sendable {
    /// The kind of a client, which never changes.
    package enum Kind: String, CaseIterable, Sendable {
        case app
        /// A client that lives briefly and leaves its sessions to an app.
        case `extension`
    }

    /// A client's state of life; the raw value is the one in the API and in the database.
    package enum Lifecycle: String, CaseIterable, Sendable {
        case active
        case background
        /// Not running, and woken by webhooks, as a `terminated` client is: its tasks continue.
        case suspended
        case terminated
        /// Ended by a person: its tasks were cancelled, and nothing wakes it before its next
        /// launch.
        case forceQuit = "force_quit"

        /// Whether the client is running.
        package var isRunning: Bool { self == .active || self == .background }
    }

    /// The time for which a client stays in the background that holds no assertion.
    package static let grace: Duration = .seconds(5)

    package let id: ClientID
    /// The log of the client's own events.
    package let log: SessionID
    /// The number of the newest event in ``log``; 0 before the first.
    package let lastEventSequence: Int64
    package let kind: Kind
    package let lifecycle: Lifecycle
    package let lifecycleChangedAt: Date
    package let createdAt: Date
    /// Since when the client is being removed with all it owns; nil for all others.
    package let removedAt: Date?

    package init(
        id: ClientID,
        log: SessionID,
        lastEventSequence: Int64,
        kind: Kind,
        lifecycle: Lifecycle,
        lifecycleChangedAt: Date,
        createdAt: Date,
        removedAt: Date? = nil
    ) {
        self.id = id
        self.log = log
        self.lastEventSequence = lastEventSequence
        self.kind = kind
        self.lifecycle = lifecycle
        self.lifecycleChangedAt = lifecycleChangedAt
        self.createdAt = createdAt
        self.removedAt = removedAt
    }
}

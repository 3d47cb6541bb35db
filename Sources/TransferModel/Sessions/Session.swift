package import Foundation

/// A named set of transfer tasks of one tenant.
package struct Session: Sendable {
    /// The longest identifier, in UTF-8 bytes.
    package static let identifierBytesMax = 255
    /// The largest revision of a new session.
    package static let firstRevisionMax: Int32 = 1_000_000_000

    /// A session's kind, which decides how long its contents last and never changes.
    package enum Kind: String, CaseIterable, Sendable {
        /// Results and events outlive the session: `URLSessionConfiguration.background`.
        case background
        /// Nothing but files that were given a name outlives the session:
        /// `URLSessionConfiguration.ephemeral`. Its tasks may be data tasks.
        case ephemeral
    }

    package let id: SessionID
    package let tenant: TenantID
    package let client: ClientID
    /// The client's name for the session, unique among the client's own.
    package let identifier: String
    package let kind: Kind
    package let configuration: SessionConfiguration
    package let progress: SessionProgress
    /// The counts of all its stored tasks, whatever their generation.
    package let taskCounts: TaskCounts
    package let createdAt: Date
    /// The number of changes of the session's configuration, counted from a random one: no session
    /// has the revision of an earlier one of its name.
    package let revision: Int32
    /// Whether the session takes no further tasks and ends with its last one.
    package let isFinishing: Bool

    package init(
        id: SessionID,
        tenant: TenantID,
        client: ClientID,
        identifier: String,
        kind: Kind,
        configuration: SessionConfiguration,
        progress: SessionProgress,
        taskCounts: TaskCounts,
        createdAt: Date,
        revision: Int32,
        isFinishing: Bool
    ) {
        self.id = id
        self.tenant = tenant
        self.client = client
        self.identifier = identifier
        self.kind = kind
        self.configuration = configuration
        self.progress = progress
        self.taskCounts = taskCounts
        self.createdAt = createdAt
        self.revision = revision
        self.isFinishing = isFinishing
    }
}

package import Foundation

/// A named set of transfer tasks of one tenant.
package struct Session: Sendable {
    /// The longest identifier, in UTF-8 bytes.
    package static let identifierBytesMax = 255

    /// How long what belongs to a session lasts; never changes.
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
    /// The client's name for it, unique among its own.
    package let identifier: String
    package let kind: Kind
    package let configuration: SessionConfiguration
    package let progress: SessionProgress
    /// Of all its tasks that are kept, whatever their generation.
    package let taskCounts: TaskCounts
    package let createdAt: Date
    /// Counts the changes of its configuration.
    package let revision: Int32
    /// Whether it takes no further tasks and ends with its last one.
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

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

/// What a session's tasks have in common.
package struct SessionConfiguration: Equatable, Sendable {
    /// Longest time without a byte; `URLSessionConfiguration.timeoutIntervalForRequest`.
    package var timeoutForRequest = timeoutForRequestDefault
    /// Longest time for a task, over all its attempts; `timeoutIntervalForResource`.
    package var timeoutForResource = timeoutForResourceDefault
    /// Sent with every task of the session; a task's own header of that name wins.
    package var additionalHeaders: [HTTPHeader] = []
    /// What else its tasks have in common; without the two timeouts, which are always there.
    package var options = TransferOptions()
    /// The most bytes in a second of all its running tasks together; nil for any.
    package var totalBytesPerSecondMax: Int64?
    /// What an extension shares with its app; `sharedContainerIdentifier`.
    package var sharedContainerIdentifier: String?
    /// How long an ended task is kept, with its result; nil for as long as the service says.
    package var resultRetention: Duration?
    /// Connections of all its tasks to one host, at most; nil for as many as the host may have.
    ///
    /// `URLSessionConfiguration.httpMaximumConnectionsPerHost`.
    package var maxConnectionsPerHost: Int?
    /// Whether its tasks wait until there is nothing else to do;
    /// `URLSessionConfiguration.isDiscretionary`.
    package var isDiscretionary = false

    package static let timeoutForRequestDefault: Duration = .seconds(60)
    package static let timeoutForResourceDefault: Duration = .seconds(7 * 24 * 3600)
    package static let resultRetentionDefault: Duration = .seconds(7 * 24 * 3600)
    package static let maxConnectionsPerHostRange = 1...256
    /// A minute to ten years.
    package static let resultRetentionSeconds: ClosedRange<Double> = 60...315_360_000

    package init(
        timeoutForRequest: Duration = timeoutForRequestDefault,
        timeoutForResource: Duration = timeoutForResourceDefault,
        additionalHeaders: [HTTPHeader] = [],
        options: TransferOptions = TransferOptions(),
        totalBytesPerSecondMax: Int64? = nil,
        sharedContainerIdentifier: String? = nil,
        resultRetention: Duration? = nil,
        maxConnectionsPerHost: Int? = nil,
        isDiscretionary: Bool = false
    ) {
        self.timeoutForRequest = timeoutForRequest
        self.timeoutForResource = timeoutForResource
        self.additionalHeaders = additionalHeaders
        self.options = options
        self.totalBytesPerSecondMax = totalBytesPerSecondMax
        self.sharedContainerIdentifier = sharedContainerIdentifier
        self.resultRetention = resultRetention
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.isDiscretionary = isDiscretionary
    }
}

/// One header field of a request; the validated form of what a client sent.
package struct HTTPHeader: Hashable, Sendable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// How far a session's current generation is.
package struct SessionProgress: Equatable, Sendable {
    /// Counts up when the first task arrives in a drained session; 0 before the first task.
    package var generation: Int64
    /// Tasks of the generation that are not terminal.
    package var outstanding: Int64
    package var completed: Int64
    package var failed: Int64
    package var cancelled: Int64
    /// The number of the session's newest event; 0 before the first.
    package var lastSequence: Int64

    package init(
        generation: Int64 = 0,
        outstanding: Int64 = 0,
        completed: Int64 = 0,
        failed: Int64 = 0,
        cancelled: Int64 = 0,
        lastSequence: Int64 = 0
    ) {
        self.generation = generation
        self.outstanding = outstanding
        self.completed = completed
        self.failed = failed
        self.cancelled = cancelled
        self.lastSequence = lastSequence
    }
}

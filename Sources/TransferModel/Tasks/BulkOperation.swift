package import Foundation

/// One verb for the tasks of a session that are in certain states, carried out page by page.
///
/// It concerns only tasks that were in the session when it was requested.
package struct BulkOperation: Sendable {
    /// The request that each of the tasks would otherwise get alone.
    package enum Verb: String, CaseIterable, Sendable {
        case resume, suspend, cancel, retry

        /// The states in which a task can be the target of the verb.
        package var states: [TransferState] {
            switch self {
            case .resume: [.suspended]
            case .suspend: TransferState.allCases.filter { $0.after(.suspended) != nil }
            case .cancel: TransferState.allCases.filter { $0.after(.cancelled) != nil }
            case .retry: TransferState.allCases.filter { $0.after(.retried) != nil }
            }
        }

        /// The states of its targets when a request names none.
        package var statesDefault: [TransferState] {
            switch self {
            // Its client wanted the others to be cancelled.
            case .retry: [.failed]
            case .resume, .suspend, .cancel: states
            }
        }
    }

    /// How far an operation is.
    package enum State: String, Sendable {
        /// Tasks are left to look at.
        case running
        /// All tasks were looked at.
        case completed
        /// Some tasks were not looked at, for a ``Reason``.
        case stopped
    }

    /// The reason why an operation was stopped or, while it runs, what it waits for; equal to the
    /// code of the problem that a request for a single task would get.
    package enum Reason: String, Sendable {
        /// Its client stopped it.
        case requested
        case sessionEnded = "session_ended"
        case sessionFinishing = "session_finishing"
        case clientForceQuit = "client_force_quit"
        /// The tenant may have no more outstanding tasks now.
        case quotaExceeded = "quota_exceeded"
        /// The service takes no more tasks now.
        case queueFull = "queue_full"
    }

    package let id: BulkOperationID
    package let client: ClientID
    package let sessionIdentifier: String
    package let verb: Verb
    /// The states of the targets, each looked at when the task's page is.
    package let states: [TransferState]
    package let state: State
    package let reason: Reason?
    /// The number of tasks that were in those states when the operation was requested.
    package let matching: Int64
    /// The number of tasks that were changed so far.
    package let changed: Int64
    package let createdAt: Date
    package let finishedAt: Date?

    package init(
        id: BulkOperationID,
        client: ClientID,
        sessionIdentifier: String,
        verb: Verb,
        states: [TransferState],
        state: State,
        reason: Reason?,
        matching: Int64,
        changed: Int64,
        createdAt: Date,
        finishedAt: Date?
    ) {
        self.id = id
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.verb = verb
        self.states = states
        self.state = state
        self.reason = reason
        self.matching = matching
        self.changed = changed
        self.createdAt = createdAt
        self.finishedAt = finishedAt
    }
}

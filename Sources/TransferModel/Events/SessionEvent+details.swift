package import Foundation

/// What events say about sessions, clients and subscriptions.
extension SessionEvent {
    /// The summary of a generation in `session.events_finished`.
    package struct GenerationSummary: Equatable, Sendable {
        /// The most failed tasks listed; the rest are behind a link.
        package static let failedTasksMax = 20
        /// The most bytes of the listed tasks' client strings together.
        ///
        /// From the first string that does not fit on, the list has tasks without their strings,
        /// because none is ever cut. So a message stays as small as Standard Webhooks 1.0 asks for.
        package static let clientStringBytesMax = 8 * 1024

        /// The number of tasks that completed.
        package let completed: Int64
        /// The number of tasks that failed.
        package let failed: Int64
        /// The number of tasks that were cancelled.
        package let cancelled: Int64
        /// The first failed tasks by identifier.
        package let failedTasks: [FailedTask]

        package init(
            completed: Int64,
            failed: Int64,
            cancelled: Int64,
            failedTasks: [FailedTask]
        ) {
            self.completed = completed
            self.failed = failed
            self.cancelled = cancelled
            self.failedTasks = failedTasks
        }
    }

    /// A failed task as `session.events_finished` lists it.
    package struct FailedTask: Equatable, Sendable {
        package let id: TaskID
        package let clientString: ClientString?
        /// Whether the task has a client string that did not fit.
        package let isClientStringOmitted: Bool
        package let code: TransferFailure.Code

        package init(
            id: TaskID,
            clientString: ClientString?,
            isClientStringOmitted: Bool = false,
            code: TransferFailure.Code
        ) {
            self.id = id
            self.clientString = clientString
            self.isClientStringOmitted = isClientStringOmitted
            self.code = code
        }
    }

    /// The content of `session.events_pending`: the tasks that wait for their client.
    package struct PendingTasks: Equatable, Sendable {
        /// The most tasks listed.
        package static let listedMax = 20

        /// The number of tasks that wait for their client's word to start.
        package let waitingToBegin: Int64
        /// The number of tasks that wait for a credential.
        package let waitingForAuthentication: Int64
        /// The first waiting tasks by identifier.
        package let tasks: [TaskID]

        package init(waitingToBegin: Int64, waitingForAuthentication: Int64, tasks: [TaskID]) {
            self.waitingToBegin = waitingToBegin
            self.waitingForAuthentication = waitingForAuthentication
            self.tasks = tasks
        }
    }

    /// The client that `client.removed` is about, of which nothing else is left.
    package struct RemovedClient: Equatable, Sendable {
        package let id: ClientID
        package let kind: Client.Kind

        package init(id: ClientID, kind: Client.Kind) {
            self.id = id
            self.kind = kind
        }
    }

    /// The subscription that `subscription.disabled` is about.
    package struct DisabledSubscription: Equatable, Sendable {
        package let id: SubscriptionID
        package let reason: Subscription.Disablement.Reason
        /// The time since which no message has got through.
        package let failingSince: Date

        package init(
            id: SubscriptionID,
            reason: Subscription.Disablement.Reason,
            failingSince: Date
        ) {
            self.id = id
            self.reason = reason
            self.failingSince = failingSince
        }
    }

    /// The content of `subscription.events_expired`: the events of a session that were no longer
    /// kept when they were to be delivered.
    package struct ExpiredEvents: Equatable, Sendable {
        /// The subscription to which the events were not delivered.
        package let subscription: SubscriptionID
        /// The log of the events.
        package let session: SessionID
        package let client: ClientID
        /// The session's identifier; nil for events of the client's own log.
        package let sessionIdentifier: String?
        /// The numbers of the events.
        package let sequences: ClosedRange<Int64>

        package init(
            subscription: SubscriptionID,
            session: SessionID,
            client: ClientID,
            sessionIdentifier: String?,
            sequences: ClosedRange<Int64>
        ) {
            self.subscription = subscription
            self.session = session
            self.client = client
            self.sessionIdentifier = sessionIdentifier
            self.sequences = sequences
        }
    }
}

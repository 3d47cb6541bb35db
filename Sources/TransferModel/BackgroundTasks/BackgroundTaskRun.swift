package import Foundation

/// One launch of a background task, and what came of it.
package struct BackgroundTaskRun: Sendable {
    /// The state of a run; the raw value is the one in the API.
    package enum State: String, CaseIterable, Sendable {
        /// Its client has not accepted it yet.
        case launched
        case running
        /// Completed by its client, or with its transfers, and successful.
        case succeeded
        /// Completed and unsuccessful.
        case failed
        /// Not completed by its deadline.
        case expired
        /// Accepted by nobody; its request is launched again.
        case notAccepted = "not_accepted"
        /// Ended by the force-quit of its client.
        case clientForceQuit = "client_force_quit"

        /// Whether the run has ended.
        package var isTerminal: Bool { self != .launched && self != .running }
    }

    /// Who or what ended a run; the raw value is the one in the API and in the database.
    package enum EndReason: String, CaseIterable, Sendable {
        /// Its client completed it, successfully.
        case completedByClient = "completed_by_client"
        /// Its client completed it without success.
        case failedByClient = "failed_by_client"
        /// All transfers linked to it have completed, and it completes with them.
        case transfersCompleted = "transfers_completed"
        /// All transfers linked to it have ended, and some have not completed.
        case transfersFailed = "transfers_failed"
        /// Its deadline came first.
        case deadlinePassed = "deadline_passed"
        /// Nobody accepted its launch in time.
        case notAccepted = "not_accepted"
        /// Its client was force-quit.
        case clientForceQuit = "client_force_quit"

        /// The state of a run that ended so.
        package var state: State {
            switch self {
            case .completedByClient, .transfersCompleted: .succeeded
            case .failedByClient, .transfersFailed: .failed
            case .deadlinePassed: .expired
            case .notAccepted: .notAccepted
            case .clientForceQuit: .clientForceQuit
            }
        }
    }

    /// How far the client has got.
    package struct Progress: Equatable, Sendable {
        package let completedUnitCount: Int64
        package let totalUnitCount: Int64

        package init(completedUnitCount: Int64, totalUnitCount: Int64) {
            self.completedUnitCount = completedUnitCount
            self.totalUnitCount = totalUnitCount
        }
    }

    package let id: BackgroundTaskRunID
    package let client: ClientID
    package let identifier: BackgroundTaskIdentifier
    package let kind: BackgroundTaskKind
    package let state: State
    /// Who or what ended it; nil while it has not ended.
    package let reason: EndReason?
    package let launchedAt: Date
    package let deadlineAt: Date
    package let acceptedAt: Date?
    package let endedAt: Date?
    /// The time from the launch to the start of its occurrence; nil if it does not recur.
    package let occurrenceAt: Date?
    package let progress: Progress?
    package let title: String?
    package let subtitle: String?
    /// The number of transfers that were linked to it, whatever has become of them.
    package let transfers: Int64

    /// The time within which a launch has to be accepted.
    package static let acceptTimeMax: Duration = .seconds(60)
    /// The time before the deadline at which `background_task.expiring` is written: 4 seconds, and
    /// what it takes to be told.
    package static let notice: Duration = .milliseconds(4500)
    /// The most runs of a client at once.
    package static let openMax: Int64 = 10
    /// The most transfers that are linked to a run.
    package static let transfersMax: Int64 = 10_000

    package init(
        id: BackgroundTaskRunID,
        client: ClientID,
        identifier: BackgroundTaskIdentifier,
        kind: BackgroundTaskKind,
        state: State,
        reason: EndReason?,
        launchedAt: Date,
        deadlineAt: Date,
        acceptedAt: Date?,
        endedAt: Date?,
        occurrenceAt: Date?,
        progress: Progress?,
        title: String?,
        subtitle: String?,
        transfers: Int64
    ) {
        self.id = id
        self.client = client
        self.identifier = identifier
        self.kind = kind
        self.state = state
        self.reason = reason
        self.launchedAt = launchedAt
        self.deadlineAt = deadlineAt
        self.acceptedAt = acceptedAt
        self.endedAt = endedAt
        self.occurrenceAt = occurrenceAt
        self.progress = progress
        self.title = title
        self.subtitle = subtitle
        self.transfers = transfers
    }
}

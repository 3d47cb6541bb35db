package import Logging
import TransferModel
import TransferStore

/// The watches in which requests wait for changes: each kind is read for all of them together.
package struct LongPollHub: Sendable {
    let tasks: SharedPoll<TaskID, TransferState>
    let events: SharedPoll<SessionID, EventPosition>
    /// The number of tasks of a session that have not ended.
    let sessions: SharedPoll<SessionID, Int64>

    package init(stores: APIStores, logger: Logger) {
        tasks = SharedPoll(logger: logger) { try await stores.tasks.states(of: $0) }
        events = SharedPoll(logger: logger) { try await stores.events.eventPositions(of: $0) }
        sessions = SharedPoll(logger: logger) { try await stores.sessions.outstanding(of: $0) }
    }

    /// Tells the watches that this instance has changed something; to be called after the commit.
    package func signal() {
        tasks.signal()
        events.signal()
        sessions.signal()
    }
}

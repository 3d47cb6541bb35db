package import Logging
import TransferModel
import TransferStore

/// The polls in which requests wait for changes: each kind is read for all of them together.
package struct LongPollHub: Sendable {
    let tasks: SharedPoll<TaskID, TransferState>
    let events: SharedPoll<EventLog.Source, EventPosition>
    /// The number of tasks of a session that have not ended.
    let sessions: SharedPoll<SessionID, Int64>

    package init(stores: APIStores, logger: Logger) {
        tasks = SharedPoll(logger: logger) { try await stores.tasks.states(of: $0) }
        events = SharedPoll(logger: logger) { try await stores.events.positions(of: $0) }
        sessions = SharedPoll(logger: logger) { try await stores.sessions.outstanding(of: $0) }
    }

    /// Tells the polls that this instance has changed something; to be called after the commit.
    package func signal() {
        tasks.signal()
        events.signal()
        sessions.signal()
    }
}

extension EventStore {
    /// Returns how far logs have got, feeds with all that has been committed; missing logs are
    /// absent from the result.
    fileprivate func positions(
        of sources: [EventLog.Source]
    ) async throws(StoreError) -> [EventLog.Source: EventPosition] {
        var logs: [SessionID] = []
        var tenants: [TenantID] = []
        for source in sources {
            switch source {
            case .log(let id): logs.append(id)
            case .feed(let tenant): tenants.append(tenant)
            }
        }
        var positions: [EventLog.Source: EventPosition] = [:]
        if !logs.isEmpty {
            for (id, position) in try await eventPositions(of: logs) {
                positions[.log(id)] = position
            }
        }
        if !tenants.isEmpty {
            let ends = try await extendFeeds(of: tenants)
            for tenant in tenants {
                positions[.feed(tenant)] = EventPosition(
                    lastSequence: ends[tenant] ?? 0,
                    isFinal: false
                )
            }
        }
        return positions
    }
}

package import Postgres
import TransferModel
import TransferStore

/// Lets time pass for everything in a schema that is due later, without waiting for it.
package struct BackgroundClock: Sendable {
    private let stores: Stores
    private let connection: Connection

    /// Uses a connection of its own, beside the stores.
    package init(_ stores: Stores, _ connection: Connection) {
        self.stores = stores
        self.connection = connection
    }

    /// Moves all moments of clients and background work into the past, and does what is then due.
    package func pass(_ seconds: Double, hasNetwork: Bool = true) async throws {
        try await move(seconds)
        try await stores.advanceTimers(hasNetwork: hasNetwork)
    }

    /// Lets time pass until the next of these moments is so many seconds ahead, or past if they are
    /// negative, and does what is then due.
    ///
    /// The time that the test has really taken does not matter: it is given back. There must be
    /// such a moment.
    package func pass(until seconds: Double, before moment: Moment) async throws {
        try await move(until: seconds, before: moment)
        try await stores.advanceTimers()
    }

    /// Moves all moments so that the next of these is so many seconds ahead, or past if they are
    /// negative.
    package func move(until seconds: Double, before moment: Moment) async throws {
        // One transaction, in which no time passes.
        let measurement: Query = """
            SELECT set_config('clock.time',
                ((\(moment.next)) - now() - \(seconds) * interval '1 s')::text, true)
            """
        _ = try await connection.execute(
            [measurement] + Self.changes(by: "current_setting('clock.time')::interval")
        )
    }

    /// Moves all moments of clients and background work into the past.
    package func move(_ seconds: Double) async throws {
        let time: Query = "\(seconds) * interval '1 s'"
        for change in Self.changes(by: time) { _ = try await connection.execute(change) }
    }

    /// A moment that clients or their background tasks come to.
    package enum Moment: Sendable {
        /// When a client in the background is suspended.
        case graceEnd
        /// When a client in the background must have ended its assertions.
        case assertionsEnd
        /// When a run must have ended.
        case deadline

        fileprivate var next: Query {
            switch self {
            case .graceEnd: "SELECT min(grace_ends_at) FROM client"
            case .assertionsEnd: "SELECT min(assertions_end_at) FROM client"
            case .deadline:
                "SELECT min(deadline_at) FROM background_task_run WHERE num_nulls(ended_at) = 1"
            }
        }
    }

    private static func changes(by time: Query) -> [Query] {
        [
            "UPDATE timer SET due_at = due_at - \(time)",
            """
            UPDATE client SET
                grace_ends_at = grace_ends_at - \(time),
                assertions_end_at = assertions_end_at - \(time)
            """,
            """
            UPDATE background_task_request SET
                submitted_at = submitted_at - \(time), due_at = due_at - \(time),
                earliest_begin_at = earliest_begin_at - \(time),
                occurrence_at = occurrence_at - \(time), waits_since = waits_since - \(time)
            """,
            """
            UPDATE background_task_handler SET
                last_launched_at = last_launched_at - \(time),
                launched_before_at = launched_before_at - \(time)
            """,
            """
            UPDATE background_task_run SET
                launched_at = launched_at - \(time), deadline_at = deadline_at - \(time),
                accepted_at = accepted_at - \(time), ended_at = ended_at - \(time),
                occurrence_at = occurrence_at - \(time)
            """,
        ]
    }
}

extension Stores {
    /// Does everything that is due for clients and their background tasks.
    package func advanceTimers(hasNetwork: Bool = true) async throws {
        // Nothing is asked before it is done: some of it is due for a few seconds only.
        repeat {
            var count = try await timers.advanceClients() + timers.advanceRuns()
            let due = try await timers.dueRequests()
            if !due.isEmpty {
                let conditions = LaunchConditions(hasNetwork: hasNetwork)
                count += try await timers.decide(
                    due.map { ($0, LaunchDecision($0, conditions)) }
                )
            }
            guard count > 0 else { return }
        } while try await timers.untilNextTimer() == .zero
    }
}

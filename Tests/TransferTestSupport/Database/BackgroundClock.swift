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

    /// Moves all moments of clients and background work into the past.
    package func move(_ seconds: Double) async throws {
        let time: Query = "\(seconds) * interval '1 s'"
        for change in Self.changes(by: time) { _ = try await connection.execute(change) }
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
        while try await timers.untilNextTimer() == .zero {
            var count = try await timers.advanceClients() + timers.advanceRuns()
            let due = try await timers.dueRequests()
            if !due.isEmpty {
                let conditions = LaunchConditions(hasNetwork: hasNetwork)
                count += try await timers.decide(
                    due.map { ($0, LaunchDecision($0, conditions)) }
                )
            }
            guard count > 0 else { return }
        }
    }
}

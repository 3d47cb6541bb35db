import Postgres

/// The moments at which clients and their background tasks have to be looked at, and what is done
/// then.
///
/// A moment is a reminder and no decision: whoever looks locks the client and judges by its state.
/// Two who look at once, or one who looks too early, do nothing wrong.
package struct TimerStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }

    /// The number of subjects that one call looks at.
    package static let turnMax = 500
}

extension TimerStore {
    /// Returns the time until the next moment, zero when it is past; nil when there is none.
    package func untilNextTimer() async throws(StoreError) -> Duration? {
        let rows = try await database.run(
            """
            SELECT ceil(extract(epoch FROM min(t.due_at) - clock_timestamp()) * 1000)::bigint AS ms
            FROM (VALUES ('client'), ('request'), ('run')) AS k (kind)
            CROSS JOIN LATERAL (
                SELECT x.due_at FROM timer x WHERE x.kind = k.kind ORDER BY x.due_at LIMIT 1) t
            """
        )
        guard let wait = try rows.first?.decodeIfPresent("ms", as: Int64.self) else { return nil }
        return max(.milliseconds(wait), .zero)
    }

    /// Selects the due subjects of a kind, of which those after the limit wait for the next turn.
    static func due(_ kind: Query, and condition: Query = "true") -> Query {
        """
        SELECT t.subject FROM timer t
        WHERE t.kind = \(kind) AND t.due_at <= now() AND \(condition)
        ORDER BY t.due_at LIMIT \(turnMax)
        """
    }
}

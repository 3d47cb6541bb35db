import Foundation
import Postgres
import TransferModel
import TransferTestSupport

/// Time that passes without being waited for.
extension EngineFixture {
    /// Lets a worker find all others dead: they have been silent, and it has been heard, for longer
    /// than any lease.
    func loseWorkers(except survivor: WorkerIdentity) async throws {
        let aside = try await TestDatabase.current.connection()
        _ = try await aside.execute(
            """
            UPDATE worker SET alive_since = now() - interval '1 hour',
                heartbeat_at = CASE WHEN incarnation = \(survivor.incarnation)
                    THEN heartbeat_at ELSE now() - interval '1 hour' END
            """
        )
        await aside.close()
    }

    /// Makes the only task that is scheduled due in half a second.
    ///
    /// It was scheduled for a time that no test reaches, so that it could be looked at before.
    ///
    /// - Returns: the date at which it is due.
    func makeDueSoon() async throws -> Date {
        let aside = try await TestDatabase.current.connection()
        let rows = try await aside.execute(
            """
            UPDATE delayed SET due_at = clock_timestamp() + interval '0.5 s' RETURNING due_at
            """
        )
        await aside.close()
        return try rows[0].decode("due_at", as: Date.self)
    }
}

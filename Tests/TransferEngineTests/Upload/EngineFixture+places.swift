import Postgres
import TransferTestSupport

/// The places of uploads, held back.
extension EngineFixture {
    /// Lets nobody keep a place before ``releasePlaces(_:after:)``.
    func lockPlaces() async throws -> Connection {
        let holder = try await TestDatabase.current.connection()
        try await holder.executeScript("BEGIN; LOCK TABLE upload_resource IN SHARE MODE")
        return holder
    }

    /// Waits until a place is to be kept and the origin has sent its final answer, and lets the
    /// place be kept.
    func releasePlaces(_ holder: Connection, after origin: LoopbackOrigin) async throws {
        try await eventually("a place is to be kept") {
            try await !holder.execute(
                """
                SELECT 1 AS one FROM pg_locks
                WHERE relation = 'upload_resource'::regclass AND NOT granted
                """
            ).isEmpty
        }
        await origin.log.wait { !$0.requests.isEmpty && $0.requestsOpen == 0 }
        try await holder.executeScript("COMMIT")
        await holder.close()
    }
}

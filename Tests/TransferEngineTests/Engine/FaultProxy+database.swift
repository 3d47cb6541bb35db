import FaultProxy
import Postgres
import TransferTestSupport

extension FaultProxy {
    /// Starts a proxy in front of the server of the running test.
    static func beforeDatabase() async throws -> FaultProxy {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(
            """
            SELECT btrim(current_setting('unix_socket_directories'), '"') || '/.s.PGSQL.'
                || current_setting('port') AS path
            """
        )
        await connection.close()
        return try FaultProxy(to: .socket(try rows[0].decode("path")))
    }
}

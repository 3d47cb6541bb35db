import ChildProcess
import Foundation
import Glibc

/// A real pooler that assigns sessions for one transaction: pgbouncer as a child process, on a
/// socket of its own.
package final class TransactionPooler: Sendable {
    private let folder: TestFolder
    private let program: ChildProcess

    private static let paths = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]
    /// The maximum number of sessions, fewer than the connections of a service, so that each is
    /// used by many.
    private static let sessionsMax = 3

    /// Starts the pooler in front of the server whose socket is in `server`, and waits for its own
    /// socket.
    ///
    /// - Throws: ``NeverHappened`` without a pgbouncer, or what the system refuses.
    package init(
        inFrontOf server: String,
        user: String,
        database: String
    ) async throws {
        let folder = try TestFolder("pooler")
        guard let path = Self.paths.first(where: { access($0, X_OK) == 0 }) else {
            throw NeverHappened(what: "pgbouncer is there (apt-get install pgbouncer)")
        }
        let files = FileManager.default
        // It refuses to run as root, and makes its socket as the account that it changes to.
        try files.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        let configuration = """
            [databases]
            pooled = host=\(server) user=\(user) dbname=\(database)
            [pgbouncer]
            unix_socket_dir = \(folder.path)
            unix_socket_mode = 0777
            listen_addr =
            auth_type = any
            pool_mode = transaction
            default_pool_size = \(Self.sessionsMax)
            """
        try folder.write(configuration, to: "pgbouncer.ini")
        let account = geteuid() == 0 ? ["-u", "postgres"] : []
        self.folder = folder
        program = try ChildProcess(
            // Whatever happens to the test, no pooler outlives it by much.
            "timeout",
            ["300", path, "-q"] + account + ["\(folder.path)/pgbouncer.ini"],
            in: folder.path,
            environment: [:],
            holding: folder
        )
        try await eventually("the pooler listens") {
            files.fileExists(atPath: "\(folder.path)/.s.PGSQL.6432")
        }
    }

    deinit { program.signal(SIGTERM) }

    /// The URL of a connection through the pooler.
    package var url: String { "host=\(folder.path) port=6432 dbname=pooled user=any" }
}

import Logging
import Postgres

/// Migrations on their way into a schema or out of it, in one transaction.
///
/// A statement that waits for a table holds up all that come to that table after it. So it waits
/// briefly, and the service gets on before the next try.
struct MigrationRun {
    /// A migration in one of its directions.
    struct Step {
        let name: String
        let script: String
    }

    /// The longest wait for a lock.
    static let lockTimeout: Duration = .seconds(2)
    /// The pause between two tries.
    private static let pause: Duration = .seconds(4)
    /// The number of tries, which take ten minutes.
    private static let triesMax = 100
    /// The number of lock holders that the log names.
    private static let holdersMax: Int64 = 5
    /// The SQLSTATE of a lock that was not had in time.
    private static let lockNotHad = "55P03"

    /// The steps in their order.
    let steps: [Step]
    let connection: Connection
    let logger: Logger

    /// Runs the steps, all of them or none.
    ///
    /// - Throws: ``MigratorError/failed(_:_:)`` with the step that failed, or `CancellationError`.
    func run() async throws {
        var tries = 1
        while true {
            let waiting: String
            do throws(MigratorError) {
                return try await transaction()
            } catch {
                guard case .failed(let name, let cause) = error,
                    cause.sqlState == Self.lockNotHad, tries < Self.triesMax
                else { throw error }
                tries += 1
                waiting = name
            }
            // Only to be told: the next try meets what is wrong with the connection.
            try? await logHolders(before: waiting)
            try await Task.sleep(for: Self.pause)
        }
    }

    private func transaction() async throws(MigratorError) {
        var name = steps.first?.name ?? ""
        do throws(PostgresError) {
            try await connection.executeScript("BEGIN")
            for step in steps {
                name = step.name
                try await connection.executeScript(step.script)
            }
            try await connection.executeScript("COMMIT")
        } catch {
            // Without a connection nothing is left to undo, and the first error says more.
            try? await connection.executeScript("ROLLBACK")
            throw .failed(name, error)
        }
    }

    /// Logs who has locks on tables of the schema, the oldest transaction first.
    private func logHolders(before name: String) async throws {
        let rows = try await connection.execute(
            """
            SELECT a.pid, coalesce(a.application_name, '') AS name,
                coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::bigint AS seconds
            FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND EXISTS (
                SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                WHERE l.pid = a.pid AND l.granted AND c.relkind IN ('r', 'p')
                    AND c.relnamespace = quote_ident(current_schema())::regnamespace)
            ORDER BY a.xact_start LIMIT \(Self.holdersMax)
            """
        )
        let holders = try rows.map { row in
            "\(try row.decode("pid", as: Int32.self)) \(try row.decode("name", as: String.self)), "
                + "\(try row.decode("seconds", as: Int64.self)) s"
        }
        logger.warning(
            "a migration waits for the locks of others",
            metadata: ["migration": "\(name)", "holders": "\(holders.joined(separator: "; "))"]
        )
    }
}

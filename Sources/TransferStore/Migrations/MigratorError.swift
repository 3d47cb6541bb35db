package import Postgres

/// The reasons why a schema was not migrated; each text says what to do.
package enum MigratorError: Error, Equatable, CustomStringConvertible {
    case folderUnreadable(String)
    case sequenceBroken(String)
    case diverged(number: Int, name: String)
    case databaseIsNewer(number: Int, name: String)
    /// The database has migrations from before the first release.
    case madeInDevelopment
    case floorUnreadable(String)
    /// The database has this encoding, which lacks characters that texts of clients may have.
    case encodingUnfit(String)
    /// None of the schemas in which names are looked up exists, or may be used by the role.
    case schemaMissing(searchPath: String)
    /// Migrations are missing, and the role of the connection may not apply them.
    case ownerNeeded(count: Int)
    /// The database has only this many migrations, and more were to be reverted.
    case fewerApplied(count: Int)
    /// Workers that live could not run beside the migration; with the name and version of each.
    case workersLive(String, [String])
    /// The database refused the migration of this name, or was lost meanwhile.
    case failed(String, PostgresError)

    package var description: String {
        switch self {
        case .folderUnreadable(let folder):
            """
            no migrations in \(folder): name the directory above it with --resources or \
            TRANSFERD_RESOURCES
            """
        case .sequenceBroken(let file):
            """
            migration \(file) does not follow its predecessor or lacks its .down.sql: restore the \
            folder of migrations from the release
            """
        case .diverged(_, let name):
            """
            migration \(name) was applied to this database with another content: use the release \
            that applied it, or restore the file as it was; nothing was changed
            """
        case .databaseIsNewer(_, let name):
            """
            the database has migration \(name), which this release does not know: start the newer \
            release, or revert it there with `transferd migrate --revert`
            """
        case .madeInDevelopment:
            """
            this database was made by a development version from before the first release, whose \
            migrations no longer exist: start again with an empty data directory and, where one is \
            named by --database-url or DATABASE_URL, a new database; nothing was changed
            """
        case .floorUnreadable(let file):
            """
            migration \(file) does not name a version from 1 to its own after \
            "\(Migrator.floorMark)": restore the folder of migrations from the release
            """
        case .encodingUnfit(let encoding):
            """
            the database has the encoding \(encoding), which cannot hold every text: use a database \
            made with ENCODING 'UTF8' (CREATE DATABASE … TEMPLATE template0); nothing was changed
            """
        case .schemaMissing(let searchPath):
            """
            the search_path is \(searchPath), and none of its schemas exists for this role: make one \
            (CREATE SCHEMA), let the role use it (GRANT USAGE), or set another search_path
            """
        case .ownerNeeded(let count):
            """
            the database lacks \(count) migrations, and this role may not apply them: run `transferd \
            migrate` as the owner of the schema, with --grant-to for this role
            """
        case .fewerApplied(let count):
            """
            the database has \(count) migrations, fewer than are to be reverted; nothing was changed
            """
        case .workersLive(let name, let workers):
            """
            workers live that cannot run beside the change of migration \(name): \
            \(workers.joined(separator: ", ")); stop them first, or run `transferd migrate` with \
            --force
            """
        case .failed(let name, let error):
            "migration \(name) failed: \(error.reason)"
                + (error.sqlState.map { " (SQLSTATE \($0))" } ?? "")
        }
    }
}

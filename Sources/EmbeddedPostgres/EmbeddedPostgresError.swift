import Glibc

/// The reasons why the private cluster cannot be used; every text names the way out.
package enum EmbeddedPostgresError: Error, Equatable, Sendable {
    /// PostgreSQL's server is not installed: install it, or name a database by its URL.
    case programMissing(String)
    /// The cluster was made by another major version: install that one, or dump and restore.
    case versionMismatch(cluster: String, installed: [String])
    /// The files of the cluster that was in use are not there: put them back.
    case clusterGone(path: String)
    /// There is no cluster in this data directory, and nobody has asked for one: name another.
    case clusterMissing(path: String)
    /// A server of the cluster lives, as far as can be told, and does not answer at this socket:
    /// wait, or end what started it.
    case serverSilent(data: String, socket: String)
    /// This user has no name, which `initdb` asks for: start as another one.
    case userNameless(UInt32)
    /// The process was started as root, and no account that could run the server exists.
    case accountMissing
    /// The account that runs the server may not pass through this directory.
    case directoryClosed(path: String, account: String)
    /// The directory of the socket belongs to somebody else or is open to others: remove it.
    case socketDirectoryUnsafe(path: String)
    /// Another process has taken too long to start or stop the cluster.
    case locked(path: String)
    /// A program of PostgreSQL failed; its last words say why.
    case programFailed(program: String, status: Int32, output: String)
    /// The operating system refused an operation.
    case system(operation: String, path: String, errno: Int32)
}

extension EmbeddedPostgresError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .programMissing(let program):
            """
            \(program) was not found in PATH or /usr/lib/postgresql/*/bin. Install the server with \
            `apt-get install postgresql`, or set DATABASE_URL to use another one.
            """
        case .versionMismatch(let cluster, let installed):
            """
            The cluster was made by PostgreSQL \(cluster), but only \
            \(installed.joined(separator: ", ")) is installed. Install it with \
            `apt-get install postgresql-\(cluster)`, or move the data by pg_dump.
            """
        case .clusterGone(let path):
            """
            There is no cluster in \(path) any more. Put its files back, or start again to make an \
            empty one.
            """
        case .clusterMissing(let path):
            """
            There is no private cluster in \(path), and this command makes none. Name the data \
            directory of the service (TRANSFERD_DATA_DIRECTORY), or its database (DATABASE_URL).
            """
        case .serverSilent(let data, let socket):
            """
            A PostgreSQL server works in \(data) and does not answer at \(socket). It may be \
            starting or ending. If it was started under another path of this directory or on \
            another machine, stop that service first. If there is no such service, end the process \
            that postmaster.pid there names.
            """
        case .userNameless(let user):
            """
            The user \(user) of this process has no name (getpwuid(3)), without which PostgreSQL \
            makes no cluster. Start as another user, or set DATABASE_URL to use another server.
            """
        case .accountMissing:
            """
            PostgreSQL does not run as root, and there is neither an account postgres nor nobody. \
            Install the server with `apt-get install postgresql`, or start as another user.
            """
        case .directoryClosed(let path, let account):
            """
            The account \(account), which runs PostgreSQL, may not pass through \(path). Allow it \
            with `chmod o+x \(path)`, or choose another data directory.
            """
        case .socketDirectoryUnsafe(let path):
            """
            \(path) must be a directory that belongs to the account that runs PostgreSQL and is \
            closed to others. Remove it and start again.
            """
        case .locked(let path):
            "Another process holds \(path) and has been starting or stopping PostgreSQL too long."
        case .programFailed(let program, let status, let output):
            "\(program) failed with status \(status): \(output)"
        case .system(let operation, let path, let code):
            "\(operation) \(path): \(String(cString: strerror(code)))\(Self.remedy(of: code))"
        }
    }

    private static func remedy(of code: Int32) -> String {
        [EACCES, EPERM].contains(code)
            ? ". Give it to the user of this service, or choose another data directory." : ""
    }
}

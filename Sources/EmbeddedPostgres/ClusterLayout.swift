import Foundation

/// The paths of a cluster, below a data directory that has its final, absolute path.
struct ClusterLayout: Equatable, Sendable {
    let directory: String

    /// The directory of the cluster itself, PostgreSQL's `PGDATA`.
    var data: String { "\(directory)/postgres" }
    /// The directory in which a new cluster is made until it is complete.
    var unfinishedData: String { "\(directory)/postgres.unfinished" }
    /// The server's log.
    var log: String { "\(directory)/postgres.log" }
    /// The lock held by a process that starts or stops the server.
    var lock: String { "\(directory)/lock" }
    /// The lock shared by all processes that use the server.
    var users: String { "\(directory)/postgres.users" }
    /// The lock held by the processes of the server themselves.
    var server: String { "\(directory)/postgres.server" }
    /// The file in which the server names its process, by the number that it has for itself.
    var processFile: String { "\(data)/postmaster.pid" }
    /// The file of our settings, included by `postgresql.conf`.
    var settings: String { "\(data)/\(Self.settingsName)" }

    static let settingsName = "transferd.conf"
    /// The longest path of a socket, which must fit `sockaddr_un.sun_path` with its NUL: unix(7).
    static let socketPathMax = 107
    static let socketName = ".s.PGSQL.5432"
    static let userName = "transferd"
    static let databaseName = "postgres"

    /// The directory of the socket: in the data directory, or a short one when that is too deep.
    var socketDirectory: String {
        let preferred = "\(directory)/run"
        let length = preferred.utf8.count + 1 + Self.socketName.utf8.count
        return length <= Self.socketPathMax ? preferred : "/tmp/transferd-\(hash)"
    }

    /// The server's socket.
    var socket: String { "\(socketDirectory)/\(Self.socketName)" }
    /// The server's own lock on its socket, which names its process.
    var socketLock: String { "\(socket).lock" }

    /// Returns the connection string with which a role connects by libpq.
    func url(of role: String) -> String {
        """
        host=\(Self.quoted(socketDirectory)) port=5432 user=\(Self.quoted(role)) \
        dbname=\(Self.databaseName)
        """
    }

    /// Quotes a value of a keyword string (PostgreSQL manual, libpq, "Connection Strings").
    private static func quoted(_ value: String) -> String {
        let escaped = value.replacingOccurrences(of: "\\", with: "\\\\")
            .replacingOccurrences(of: "'", with: "\\'")
        return "'\(escaped)'"
    }

    /// A hash that is the same for the same directory in every process: 64-bit FNV-1a.
    private var hash: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in directory.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

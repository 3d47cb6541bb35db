import CLinux
import Foundation
import Glibc

/// The signs by which a server is told from one that was killed.
///
/// The number in its file says little: it is the server's in the container where that was started,
/// a stranger's or nobody's elsewhere, and numbers are reused, quickly so in containers. The socket
/// and the lock that the server's processes hold are the same in all containers of a machine, by
/// whatever path they reach the directory.
extension ClusterServer {
    /// The state in which the server is found before we do anything.
    enum Presence {
        /// The server accepts connections.
        case running
        /// No process of the server is left.
        case absent
    }

    /// The time in which a server that accepts nothing has to begin or to end.
    ///
    /// The children of a killed one notice within moments, unless a statement keeps one busy.
    private static let silenceTimeout: Duration = .seconds(5)
    private static let pollInterval: useconds_t = 50_000

    /// Looks for our server, and waits for one that is starting or stopping.
    ///
    /// - Returns: where it stands; it is absent only if no sign of it is left.
    /// - Throws: ``EmbeddedPostgresError/serverSilent(data:socket:)`` for one that is there and of
    ///   no use, or an error of the system where it cannot be told.
    func presence() throws(EmbeddedPostgresError) -> Presence {
        let deadline = ContinuousClock.now + .seconds(Self.startTimeoutSeconds)
        var heardAt = ContinuousClock.now
        while true {
            if try listener() != nil {
                if isReady { return .running }
                // It may still be replaying its log, or may just be stopping.
                heardAt = .now
            } else if try !isAlive() {
                return .absent
            }
            guard .now < deadline, .now - heardAt < Self.silenceTimeout else {
                throw .serverSilent(data: layout.data, socket: layout.socket)
            }
            usleep(Self.pollInterval)
        }
    }

    /// Returns whether the server has the number here that its file names.
    ///
    /// Otherwise `pg_ctl stop` would signal a stranger. The socket does not tell it of a server
    /// that has more connections than it accepts, or whose socket is gone.
    func isNamedAsHere() throws(EmbeddedPostgresError) -> Bool {
        guard let process = namedProcess else { return false }
        if try listener() == process { return true }
        return try worksInData(process)
    }

    /// Returns whether a server without a socket is certainly one that we have started, under the
    /// number here that its file names.
    ///
    /// It is not for one that is replaying its log, and would have to begin again, nor for one that
    /// somebody has started by hand to answer elsewhere, which holds no lock of ours.
    func isCutOffHere() throws(EmbeddedPostgresError) -> Bool {
        guard try listener() == nil, try isLockHeld() else { return false }
        return try isNamedAsHere()
    }

    /// Removes the files of a server of which no sign is left.
    ///
    /// A new server would heed both for as long as a process of its account has the number in them,
    /// also a killed one that nobody has reaped. With a process that is gone it copes itself, and
    /// looks for its orphans, too; but it refuses a file without a number, as a loss of power
    /// leaves it. No other server uses the socket: its directory is ours alone.
    func removeLocksOfKilledServer() {
        let isGone = namedProcess.map { kill($0, 0) != 0 && errno != EPERM } ?? false
        if !isGone { unlink(layout.processFile) }
        unlink(layout.socketLock)
    }

    /// Returns the process that accepts connections at the socket: 0 for one that has no number
    /// here, as in another container; nil for none.
    private func listener() throws(EmbeddedPostgresError) -> pid_t? {
        // It does not wait for a server with more connections than it has accepted.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw .system(operation: "socket", path: layout.socket, errno: errno)
        }
        defer { close(descriptor) }
        let code = connect(descriptor)
        switch code {
        case 0: return max(clinux_listening_process(descriptor), 0)
        case EAGAIN: return 0
        case ENOENT, ECONNREFUSED: return nil
        default: throw .system(operation: "connect", path: layout.socket, errno: code)
        }
    }

    /// Connects to the server's socket, and returns an error number.
    private func connect(_ descriptor: Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { field in
            // The rest is zero, and the path leaves room for one.
            field.copyBytes(from: layout.socket.utf8.prefix(ClusterLayout.socketPathMax))
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let answer = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, size)
            }
        }
        return answer == 0 ? 0 : errno
    }

    /// Returns whether a process of the server is left, although nobody accepts connections.
    private func isAlive() throws(EmbeddedPostgresError) -> Bool {
        if try isLockHeld() { return true }
        // One that somebody has started by hand holds no lock of ours, and works in its data.
        guard let process = namedProcess else { return false }
        return try worksInData(process)
    }

    /// Returns whether processes of a server that we have started are left, in any container.
    private func isLockHeld() throws(EmbeddedPostgresError) -> Bool {
        try !FileLock(path: layout.server).lockIfFree()
    }

    /// Returns whether a process of this container has the cluster as its directory, as the server
    /// has; false also for one that has ended, unreaped.
    private func worksInData(_ process: pid_t) throws(EmbeddedPostgresError) -> Bool {
        // Asked by the server's account, for root may lack the right to look (CAP_SYS_PTRACE).
        try run(
            "test",
            ["/proc/\(process)/cwd", "-ef", layout.data],
            accepting: [0, 1]
        ) == 0
    }

    /// The number in the server's file; nil if the server has shut down in order.
    private var namedProcess: pid_t? { processLines.first.flatMap { pid_t($0) } }

    /// Whether the server says that it is ready: by the last line of its file.
    private var isReady: Bool {
        processLines.last?.trimmingCharacters(in: .whitespaces) == "ready"
    }

    private var processLines: [Substring] {
        let text = (try? String(contentsOfFile: layout.processFile, encoding: .utf8)) ?? ""
        return text.split(separator: "\n")
    }
}

import Glibc

/// A lock on a file that ends with the process, however it ends: flock(2).
final class FileLock: Sendable {
    private let path: String
    /// The open file, for a program that is to hold the lock, too: it is free once all have ended.
    let descriptor: Int32

    private static let pollInterval: useconds_t = 20_000

    /// Opens the file, and creates it if it is missing.
    init(path: String) throws(EmbeddedPostgresError) {
        self.path = path
        // Not inherited, unless a program is to hold it: a server must not keep all our locks.
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .system(operation: "open", path: path, errno: errno)
        }
    }

    deinit { close(descriptor) }

    /// Blocks the thread until nobody else holds the lock.
    func lock(within timeout: Duration) throws(EmbeddedPostgresError) {
        let deadline = ContinuousClock.now.advanced(by: timeout)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw .system(operation: "flock", path: path, errno: errno)
            }
            guard ContinuousClock.now < deadline else { throw .locked(path: path) }
            usleep(Self.pollInterval)
        }
    }

    /// Returns whether the lock was free; this process has it now.
    func lockIfFree() throws(EmbeddedPostgresError) -> Bool {
        do throws(EmbeddedPostgresError) {
            try lock(within: .zero)
            return true
        } catch {
            guard case .locked = error else { throw error }
            return false
        }
    }

    /// Takes a share of the lock, which others may share too.
    func share() throws(EmbeddedPostgresError) {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else {
            throw .system(operation: "flock", path: path, errno: errno)
        }
    }

    /// Gives up a share; returns true when nobody else has one.
    func unshareIsLast() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    func unlock() { flock(descriptor, LOCK_UN) }
}

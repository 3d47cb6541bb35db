internal import CLibPQ
import Glibc

/// A session on its way from the thread that opens it to the loop that uses it.
///
/// Proof for `@unchecked Sendable`: it has one user at a time, first the thread, which stops using
/// it when it hands it over, then the loop, which takes the session out; libpq allows threads to
/// use a session in turn, but not at once (PostgreSQL manual, libpq, "Behavior in Threaded
/// Programs"). A session that is not taken is closed.
@safe final class OpenedSession: @unchecked Sendable {
    let server: OpaquePointer
    private var isTaken = false

    init(_ server: OpaquePointer) { unsafe self.server = unsafe server }

    deinit { if !isTaken { unsafe PQfinish(server) } }

    /// Hands libpq's connection to the caller, who must finish it; call it only once.
    func take() -> OpaquePointer {
        isTaken = true
        return unsafe server
    }

    var message: String {
        guard let message = unsafe PQerrorMessage(server) else { return "" }
        return unsafe String(cString: message)
    }

    /// Whether the URL, or what fills its gaps, names more than one host.
    var hasSeveralHosts: Bool {
        guard let options = unsafe PQconninfo(server) else { return false }
        defer { unsafe PQconninfoFree(options) }
        let values = unsafe ConnectionConfiguration.values(of: options)
        return (values["hostaddr"] ?? values["host"] ?? "").contains(",")
    }

    /// Whether no host has accepted the connection yet.
    var isReaching: Bool { unsafe PQstatus(server) == CONNECTION_STARTED }

    /// Whether the host has a name, which may stand for several addresses.
    var hasHostName: Bool {
        guard let host = unsafe PQhost(server), let address = unsafe PQhostaddr(server) else {
            return false
        }
        // There is no address for a socket of this machine.
        let text = unsafe String(cString: address)
        return unsafe !text.isEmpty && text != String(cString: host)
    }

    /// Gives up the address that does not answer, as if it had refused the connection.
    ///
    /// Only the blocking functions of libpq keep to `connect_timeout`. By this, Linux ends the
    /// attempt, and `PQconnectPoll` goes on to the next address, or fails if there is none.
    func passOver() {
        let descriptor = unsafe PQsocket(server)
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Waits for the socket; returns whether it is ready before the deadline.
    func waits(for interest: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        var entry = pollfd(fd: unsafe PQsocket(server), events: Int16(interest), revents: 0)
        while true {
            let left = deadline - .now
            guard left > .zero else { return false }
            let count = unsafe poll(&entry, 1, Int32(clamping: Int64(left / .milliseconds(1)) + 1))
            if count > 0 { return true }
            if count < 0, errno != EINTR { return false }
        }
    }
}

internal import CLibPQ
import Glibc

/// A session on its way from the thread that opens it to the loop that uses it.
///
/// Proof for `@unchecked Sendable`: it has one user at a time, first the thread, which lets go of
/// it when it hands it over, then the loop, which takes the session out; libpq lets a session move
/// between threads that do not use it at once (PostgreSQL manual, libpq, "Behavior in Threaded
/// Programs"). Whatever is not taken is closed.
@safe final class OpenedSession: @unchecked Sendable {
    let server: OpaquePointer
    private var isTaken = false

    init(_ server: OpaquePointer) { unsafe self.server = unsafe server }

    deinit { if !isTaken { unsafe PQfinish(server) } }

    /// Hands libpq's connection to the caller, who finishes it; to be called once.
    func take() -> OpaquePointer {
        isTaken = true
        return unsafe server
    }

    var message: String {
        guard let message = unsafe PQerrorMessage(server) else { return "" }
        return unsafe String(cString: message)
    }

    /// Whether the socket is ready before the deadline.
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

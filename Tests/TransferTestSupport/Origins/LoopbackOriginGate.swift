import Glibc
import Synchronization

/// A gate that holds connections of an origin back until a test opens it; it never closes again.
package final class OriginGate: Sendable {
    /// The reading end of a pipe; it hangs up, and so wakes any number of pollers, when opened.
    let descriptor: Int32
    private let holder: Mutex<Int32?>

    /// Creates a closed gate.
    package init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "the test process has no descriptor left for a gate")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        descriptor = ends[0]
        holder = Mutex(ends[1])
    }

    deinit {
        open()
        close(descriptor)
    }

    /// Lets all present and future waiters continue.
    package func open() {
        holder.withLock { holder in
            if let end = holder { close(end) }
            holder = nil
        }
    }
}

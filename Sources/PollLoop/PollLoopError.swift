import CLinux
import Dispatch
import Glibc

/// The failure of a system call that threads and event loops cannot do without.
package struct PollLoopError: Error, CustomStringConvertible {
    /// The name of the system call.
    package let operation: String
    /// The `errno` of the call.
    package let errno: Int32

    package init(operation: String, errno: Int32) {
        self.operation = operation
        self.errno = errno
    }

    package var description: String { "\(operation): \(String(cString: strerror(errno)))" }
}

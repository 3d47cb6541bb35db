import CLinux
import Dispatch
import Glibc

/// A system call that an event loop cannot do without has failed.
package struct EventLoopError: Error, CustomStringConvertible {
    /// The system call.
    package let operation: String
    /// Its `errno`.
    package let errno: Int32

    package var description: String { "\(operation): \(String(cString: strerror(errno)))" }
}

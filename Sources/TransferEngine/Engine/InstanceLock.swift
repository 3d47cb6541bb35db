import Foundation
import Glibc

/// The lock by which an instance knows that its predecessor in the same data directory is dead.
///
/// The kernel gives it up with the process, however that ends, and so does nobody else: the descriptor
/// is never closed, and not inherited. Of several live processes in one directory one has it.
package struct InstanceLock: Sendable {
    /// Names the file as nobody else's is named: by the running kernel, for a lock tells of processes
    /// under that one only, and by its inode, which a copy of the directory does not share.
    package let name: String

    /// Nil when another process has the lock, or the directory can hold none.
    package init?(in directory: String) {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC
        let descriptor = open("\(directory)/instance.lock", flags, 0o600)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0 else {
            close(descriptor)
            return nil
        }
        name = "\(Boot.id):\(status.st_dev):\(status.st_ino)"
    }
}

import Foundation
import Glibc
import TransferContainer

/// The lock by which an instance knows that its predecessor in the same data directory is dead.
///
/// The kernel releases it when the process ends, in whatever way, and nobody else does: the
/// descriptor is never closed and not inherited. Of several live processes in one directory, one
/// has it.
package struct InstanceLock: Sendable {
    /// The unique name of the file: by the running kernel, for a lock says something only about
    /// processes under it, and by its inode, which a copy of the directory does not share.
    package let name: String

    /// Takes the lock; nil when another process has it, or the directory can hold none.
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

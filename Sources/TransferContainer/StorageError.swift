import Glibc
package import TransferModel

/// A file operation in a container failed.
package struct StorageError: Error, Equatable {
    /// What was being done, for the log.
    package let operation: String
    /// Its `errno`.
    package let errno: Int32

    package init(operation: String, errno: Int32) {
        self.operation = operation
        self.errno = errno
    }

    /// What it means for the task.
    package var failure: TransferFailure {
        switch errno {
        case ENOSPC, EDQUOT:
            TransferFailure(.storageFull, "The container has no space left.")
        case EEXIST:
            TransferFailure(
                .destinationCollision,
                "The destination exists; submit with overwrite to replace it."
            )
        case EACCES, EPERM, EROFS, ENOTDIR, EISDIR, ELOOP, EXDEV, ENAMETOOLONG, EINVAL:
            TransferFailure(
                .destinationNotWritable,
                "The destination cannot be written: \(String(cString: strerror(errno)))."
            )
        default:
            TransferFailure(
                .storageFailure,
                "The container failed: \(String(cString: strerror(errno)))."
            )
        }
    }
}

import Glibc
package import TransferModel

/// The failure of a file operation in a container.
package struct StorageError: Error, Equatable {
    /// The operation that failed, for the log.
    package let operation: String
    /// The `errno` of the operation.
    package let errno: Int32

    /// Creates the error for an operation that failed with `errno`.
    package init(operation: String, errno: Int32) {
        self.operation = operation
        self.errno = errno
    }

    /// Whether a path leads nowhere beneath the container: its folder is gone, or a link or a file,
    /// neither of which is followed, has taken its place.
    var leadsNowhere: Bool { [ENOENT, ENOTDIR, ELOOP].contains(errno) }

    /// The meaning for the task, if the place concerns that task alone.
    package var failure: TransferFailure {
        switch errno {
        case ENOSPC, EDQUOT:
            TransferFailure(.storageFull, "The container has no space left.")
        case EMFILE, ENFILE:
            TransferFailure(.descriptorsExhausted, "This service was out of descriptors.")
        case ENOMEM, ENOBUFS, EAGAIN:
            TransferFailure(.memoryExhausted, "This service was out of memory or threads.")
        case EFBIG:
            TransferFailure(.fileTooLarge, "The container cannot hold a file of this size.")
        case EEXIST:
            TransferFailure(
                .destinationCollision,
                "The destination exists; submit with overwrite to replace it."
            )
        case EACCES, EPERM, EROFS, ENOTDIR, EISDIR, ELOOP, EXDEV, ENAMETOOLONG, EINVAL, EBUSY,
            ENOTEMPTY, EOPNOTSUPP, ENOSYS:
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

extension StorageError: CustomStringConvertible {
    package var description: String { "\(operation): \(String(cString: strerror(errno)))" }
}

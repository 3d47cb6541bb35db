import Glibc
import TransferModel

/// A file operation in a container failed.
struct StorageError: Error, Equatable {
    /// What was being done, for the log.
    let operation: String
    /// Its `errno`.
    let errno: Int32

    /// What it means for the task.
    var failure: TransferFailure {
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

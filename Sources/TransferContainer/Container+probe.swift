import CLinux
import Glibc
package import TransferModel

/// Checks of the container as a whole.
extension Container {
    /// The name of a file that is written and removed again; a killed process may leave one behind.
    private static let probeName = ".probe"
    private static let probeBytes = 64 << 10
    /// The number of descriptors that must be free at once, so that starting transfers is worth it.
    private static let descriptorsMin = 32

    /// Returns what an error means for a task.
    ///
    /// `isChosen` says whether the task's client has chosen the place. Missing rights at such a
    /// place concern that task alone, unless the whole container lacks them.
    package func failure(of error: StorageError, isChosen: Bool) -> TransferFailure {
        guard [EACCES, EPERM, EROFS].contains(error.errno), !isChosen || !isWritable else {
            return error.failure
        }
        return TransferFailure(
            .storageUnwritable,
            "The container cannot be written: \(String(cString: strerror(error.errno)))."
        )
    }

    // By faccessat(2): whether rights and mount allow writing to the directory of all tenants.
    private var isWritable: Bool { faccessat(root, ".", W_OK | X_OK, AT_EACCESS) == 0 }

    /// Returns the space of the file system with the directories of all tenants.
    package func space() throws(StorageError) -> FileSystemSpace {
        try FileSystemSpace(of: root)
    }

    /// Returns whether a shortage is over.
    package func isOver(_ shortage: Shortage) -> Bool {
        switch shortage {
        case .storageFull, .storageUnwritable, .storageFailure: takesBytes
        case .descriptorsExhausted: hasDescriptors
        // Only an attempt can tell.
        case .memoryExhausted: true
        }
    }

    private var takesBytes: Bool {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW
        let descriptor = clinux_open_beneath(root, Self.probeName, flags, 0o600)
        guard descriptor >= 0 else { return false }
        defer {
            close(descriptor)
            unlinkat(root, Self.probeName, 0)
        }
        let bytes = [UInt8](repeating: 0x5a, count: Self.probeBytes)
        return write(descriptor, bytes, bytes.count) == bytes.count && fdatasync(descriptor) == 0
    }

    private var hasDescriptors: Bool {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<Self.descriptorsMin {
            let descriptor = fcntl(root, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else { return false }
            descriptors.append(descriptor)
        }
        return true
    }
}

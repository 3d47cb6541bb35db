import CLinux
import Glibc
package import TransferModel

/// Whether the container as a whole is in order.
extension Container {
    /// A file that is written and removed again; whoever was killed in between leaves one of it.
    private static let probeName = ".probe"
    private static let probeBytes = 64 << 10
    /// Descriptors that there have to be at once, so that a few transfers are worth beginning.
    private static let descriptorsMin = 32

    /// What an error means for a task; `isChosen` says whether its client has chosen the place.
    ///
    /// Missing rights at a place that a client has chosen are that task's affair, unless the whole
    /// container is without them.
    package func failure(of error: StorageError, isChosen: Bool) -> TransferFailure {
        guard [EACCES, EPERM, EROFS].contains(error.errno), !isChosen || !isWritable else {
            return error.failure
        }
        return TransferFailure(
            .storageUnwritable,
            "The container cannot be written: \(String(cString: strerror(error.errno)))."
        )
    }

    // By faccessat(2): whether rights and mount allow to write to the directory of all tenants.
    private var isWritable: Bool { faccessat(root, ".", W_OK | X_OK, AT_EACCESS) == 0 }

    /// Whether there is enough again of what there was too little of.
    package func isOver(_ shortage: Shortage) -> Bool {
        switch shortage {
        case .storageFull, .storageUnwritable, .storageFailure: takesBytes
        case .descriptorsExhausted: hasDescriptors
        // Nothing tells but an attempt.
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

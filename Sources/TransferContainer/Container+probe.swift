import CLinux
import Glibc
import Synchronization
package import TransferModel

/// Checks of the container as a whole.
extension Container {
    /// The name of a file that is written and removed again; a killed process may leave one behind.
    private static let probeName = ".probe"
    private static let probeBytes = 64 << 10

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

    /// Whether rights and mount allow writing to the directory of all tenants, by faccessat(2).
    private var isWritable: Bool { faccessat(root, ".", W_OK | X_OK, AT_EACCESS) == 0 }

    /// Returns the space of the file system with the directories of all tenants.
    package func space() throws(StorageError) -> FileSystemSpace {
        try FileSystemSpace(of: root)
    }

    /// Returns whether a shortage is over.
    package func isOver(_ shortage: Shortage) -> Bool {
        switch shortage {
        case .storageFull, .storageUnwritable, .storageFailure:
            isInPlace && hasSpaceLeft && takesBytes
        case .descriptorsExhausted: clinux_has_descriptors()
        // Only an attempt can tell.
        case .memoryExhausted: true
        }
    }

    /// Whether the directory is still the one at its path: of another one that was put there, or of
    /// none, the files of this one are not seen.
    package var isInPlace: Bool {
        var (opened, found) = (stat(), stat())
        guard fstat(root, &opened) == 0 else { return true }
        guard stat(directory, &found) == 0 else { return ![ENOENT, ENOTDIR].contains(errno) }
        return opened.st_dev == found.st_dev && opened.st_ino == found.st_ino
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
}

/// The space that is left to a private database on the same disk: without any, it ends, and cannot
/// start to store that transfers have given theirs back.
extension Container {
    /// The maximum of what is left: four files of the database's log.
    private static let spaceLeftMax: Int64 = 64 << 20
    /// The minimum: on a small disk, a private cluster's log begins with 1 MiB and has some 20
    /// under load.
    private static let spaceLeftMin: Int64 = 48 << 20
    /// The size of a disk that is small for the database, what is left to it, and files.
    private static let totalMin = 8 * spaceLeftMin
    /// The part of a small disk that is left.
    private static let partLeft: Int64 = 16
    /// The part of what is left that may be written between two looks at it.
    private static let partUnseen: Int64 = 16

    /// Returns the space to leave to the database in `database`; 0 if that is not on the disk of an
    /// open directory.
    static func spaceLeft(on root: Int32, toDatabaseIn database: String?) -> Int64 {
        var (own, other) = (stat(), stat())
        guard let database, fstat(root, &own) == 0, stat(database, &other) == 0,
            own.st_dev == other.st_dev
        else { return 0 }
        do throws(StorageError) {
            let part = try FileSystemSpace(of: root).total / partLeft
            return max(spaceLeftMin, min(spaceLeftMax, part))
        } catch {
            return spaceLeftMax
        }
    }

    /// Whether the database has the space that is left to it.
    var hasSpaceLeft: Bool {
        do throws(StorageError) {
            try requireSpaceLeft()
            return true
        } catch {
            return false
        }
    }

    /// Throws unless the database has the space that is left to it.
    func requireSpaceLeft() throws(StorageError) {
        guard spaceLeft > 0 else { return }
        guard try space().free >= spaceLeft else {
            throw StorageError(operation: "statvfs", errno: ENOSPC)
        }
    }

    /// Whether the database has space for new work: what is left to it is for storing what becomes
    /// of the work that it has, and to cancel and remove that.
    ///
    /// It costs a system call if the database is on the same disk.
    package var hasSpaceForNewWork: Bool {
        guard spaceLeft > 0 else { return true }
        do throws(StorageError) {
            return try space().free >= spaceLeft / 2
        } catch {
            // Whoever writes will say why.
            return true
        }
    }

    /// Whether the disk is so small that the database with what is left to it may need most of it.
    package var isSmall: Bool {
        guard spaceLeft > 0 else { return false }
        return ((try? space().total) ?? .max) < Self.totalMin
    }

    /// Counts bytes that were written; throws while they take what is left to the database.
    func wrote(_ count: Int) throws(StorageError) {
        guard spaceLeft > 0 else { return }
        let sum = bytesUnseen.add(Int64(count), ordering: .relaxed).newValue
        guard sum >= spaceLeft / Self.partUnseen else { return }
        try requireSpaceLeft()
        bytesUnseen.store(0, ordering: .relaxed)
    }
}

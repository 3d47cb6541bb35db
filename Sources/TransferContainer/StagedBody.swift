import Glibc
package import TransferModel

/// The bytes of an upload that a client has sent so far, locked while this value is open.
///
/// Every call blocks on the disk and belongs on a thread pool. `@unchecked Sendable` holds because
/// a request makes its calls one after the other.
package final class StagedBody: @unchecked Sendable {
    /// The error thrown while another request is adding bytes.
    package struct InUse: Error {}

    private let descriptor: Int32
    private let container: Container
    private let place: Container.Place
    /// The number of bytes stored.
    package private(set) var size: Int64

    /// Opens the bytes of an upload, or begins with none.
    ///
    /// - Throws: ``InUse``; ``StorageError``
    package init(of task: TaskID, tenant: TenantID, in container: Container) throws {
        self.container = container
        place = Self.place(of: task, tenant: tenant)
        descriptor = try container.openToAppend(at: place)
        size = 0
        // The kernel releases the lock with the descriptor, also when this process dies.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw InUse() }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        // Whoever held the lock may have removed the file since it was opened.
        guard status.st_nlink > 0 else { throw InUse() }
        size = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    /// Returns where the bytes of an upload are.
    package static func place(of task: TaskID, tenant: TenantID) -> Container.Place {
        Container.Place(ResultLocation.bodyPath(of: task), tenant: tenant)
    }

    /// Adds bytes after those that are stored.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        try container.writeAll(bytes, to: descriptor, at: size) { range throws(StorageError) in
            size += Int64(range.count)
            try container.wrote(range.count)
        }
    }

    /// Returns the space on the disk that holds the bytes.
    package func space() throws(StorageError) -> FileSystemSpace {
        try FileSystemSpace(of: descriptor)
    }

    /// Discards the stored bytes.
    package func clear() throws(StorageError) {
        guard ftruncate(descriptor, 0) == 0 else {
            throw StorageError(operation: "ftruncate", errno: errno)
        }
        size = 0
    }

    /// Returns the checksums of all stored bytes.
    package func checksums(
        _ algorithms: Set<ChecksumAlgorithm>
    ) throws(StorageError) -> [Checksum] {
        var hasher = ContentHasher(algorithms)
        try hasher.update(file: descriptor, range: 0..<size)
        return hasher.finalize()
    }

    /// Makes the bytes and their name durable.
    ///
    /// Bytes that could not be flushed are discarded: the kernel tells of a loss once, and the next
    /// flush would succeed without them (fsync(2)).
    package func sync() throws(StorageError) {
        guard fdatasync(descriptor) == 0 else {
            let error = StorageError(operation: "fdatasync", errno: errno)
            do throws(StorageError) {
                try clear()
            } catch {
                // The next request begins with another file.
                try container.unlink(place)
                size = 0
            }
            throw error
        }
        try container.syncDirectory(place.directory)
    }
}

import Glibc
import NIOCore
import TransferContainer
import TransferModel

/// The bytes of an upload that a client has sent so far, locked while this value is open.
///
/// Every call blocks on the disk and belongs on a thread pool. `@unchecked Sendable` holds because
/// a request makes its calls one after the other.
final class StagedBody: @unchecked Sendable {
    /// The error thrown while another request is adding bytes.
    struct InUse: Error {}

    private let descriptor: Int32
    private let container: Container
    private let place: Container.Place
    /// The number of bytes stored.
    private(set) var size: Int64

    init(of task: TaskID, tenant: TenantID, in container: Container) throws {
        self.container = container
        place = Container.Place(ResultLocation.bodyPath(of: task), tenant: tenant)
        descriptor = try container.openToAppend(at: place)
        size = 0
        // The kernel releases the lock with the descriptor, also when this process dies.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw InUse() }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        size = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    /// Returns the number of bytes stored so far, also while more are arriving.
    static func size(
        of task: TaskID,
        tenant: TenantID,
        in container: Container
    ) throws(StorageError) -> Int64 {
        let place = Container.Place(ResultLocation.bodyPath(of: task), tenant: tenant)
        let descriptor: Int32
        do throws(StorageError) {
            descriptor = try container.openSource(at: place)
        } catch  where error.errno == ENOENT {
            return 0
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        return Int64(status.st_size)
    }

    /// Adds bytes after those that are stored.
    func append(_ bytes: ByteBuffer) throws(StorageError) {
        var failure: Int32 = 0
        bytes.withUnsafeReadableBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty, failure == 0 {
                let piece = UnsafeRawBufferPointer(rebasing: rest)
                let count = pwrite(descriptor, piece.baseAddress, piece.count, off_t(size))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    failure = count == 0 ? EIO : errno
                    return
                }
                size += Int64(count)
                rest = rest.dropFirst(count)
            }
        }
        guard failure == 0 else { throw StorageError(operation: "pwrite", errno: failure) }
    }

    /// Returns the space on the disk that holds the bytes.
    func space() throws(StorageError) -> FileSystemSpace {
        try FileSystemSpace(of: descriptor)
    }

    /// Discards the stored bytes.
    func clear() throws(StorageError) {
        guard ftruncate(descriptor, 0) == 0 else {
            throw StorageError(operation: "ftruncate", errno: errno)
        }
        size = 0
    }

    /// Returns the checksums of all stored bytes.
    func checksums(_ algorithms: Set<ChecksumAlgorithm>) throws(StorageError) -> [Checksum] {
        var hasher = ContentHasher(algorithms)
        try hasher.update(file: descriptor, range: 0..<size)
        return hasher.finalize()
    }

    /// Makes the bytes and their name durable.
    func sync() throws(StorageError) {
        guard fdatasync(descriptor) == 0 else {
            throw StorageError(operation: "fdatasync", errno: errno)
        }
        try container.syncDirectory(place.directory)
    }
}

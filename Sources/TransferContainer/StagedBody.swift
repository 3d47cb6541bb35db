import CLinux
package import Foundation
import Glibc
package import TransferModel

/// The bytes of an upload that a client has sent so far, locked while this value is open.
///
/// Every call blocks on the disk and belongs on a thread pool. `@unchecked Sendable` holds because
/// a request makes its calls one after the other.
///
/// The size of the file counts during the boot of the machine in which it was written. After
/// another boot, or on another machine, it may have bytes that never reached the disk and read as
/// zeros; then only those count that were made durable by ``sync()``. The file itself says so.
package final class StagedBody: @unchecked Sendable {
    /// The error thrown while another request is adding bytes.
    package struct InUse: Error {}

    private let descriptor: Int32
    private let container: Container
    private let place: Container.Place
    private let bootID: UUID
    /// What the file says; nil when it is not of this boot.
    private var mark: Mark?
    /// The number of bytes that survive a power cut.
    private var bytesDurable: Int64
    /// The number of bytes stored.
    package private(set) var size: Int64
    /// Whether the file has bytes after these, which do not count.
    private var hasSurplus = false

    /// Whether all stored bytes survive a power cut.
    package var isDurable: Bool { size == bytesDurable }

    /// Opens the bytes of an upload, or begins with none; leaves the file as it is.
    ///
    /// - Parameters:
    ///   - task: the upload.
    ///   - tenant: the task's.
    ///   - container: where the bytes are.
    ///   - bootID: the current boot of the machine.
    /// - Throws: ``InUse``; ``StorageError``
    package init(
        of task: TaskID,
        tenant: TenantID,
        in container: Container,
        bootID: UUID = Boot.id
    ) throws {
        self.container = container
        self.bootID = bootID
        place = Self.place(of: task, tenant: tenant)
        descriptor = try container.openToAppend(at: place)
        (bytesDurable, size) = (0, 0)
        // The kernel releases the lock with the descriptor, also when this process dies.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw InUse() }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        // Whoever held the lock may have removed the file since it was opened.
        guard status.st_nlink > 0 else { throw InUse() }
        try begin(at: Int64(status.st_size))
    }

    /// Begins with those of the bytes found that count.
    private func begin(at sizeFound: Int64) throws(StorageError) {
        // A file without bytes is marked with the first.
        guard sizeFound > 0 else { return }
        let found = try Mark(of: descriptor, inBoot: bootID)
        bytesDurable = min(sizeFound, found.bytesDurable)
        size = found.bytesUsable(ofSize: sizeFound, inBoot: bootID)
        if found.bootID == bootID { mark = found }
        hasSurplus = size < sizeFound
    }

    /// Discards the bytes that do not count.
    private func dropSurplus() throws(StorageError) {
        guard hasSurplus else { return }
        guard ftruncate(descriptor, off_t(size)) == 0 else {
            throw StorageError(operation: "ftruncate", errno: errno)
        }
        hasSurplus = false
    }

    deinit { close(descriptor) }

    /// Returns where the bytes of an upload are.
    package static func place(of task: TaskID, tenant: TenantID) -> Container.Place {
        Container.Place(ResultLocation.bodyPath(of: task), tenant: tenant)
    }

    /// Returns the number of bytes that count, also while a request adds more.
    ///
    /// - Parameters:
    ///   - task: the upload.
    ///   - tenant: the task's.
    ///   - container: where the bytes are.
    ///   - bootID: the current boot of the machine.
    /// - Returns: the number; 0 when there are none.
    /// - Throws: ``StorageError``
    package static func size(
        of task: TaskID,
        tenant: TenantID,
        in container: Container,
        bootID: UUID = Boot.id
    ) throws(StorageError) -> Int64 {
        do throws(StorageError) {
            guard
                let descriptor = try container.openSource(at: Self.place(of: task, tenant: tenant))
            else { return 0 }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw StorageError(operation: "fstat", errno: errno)
            }
            guard status.st_mode & S_IFMT == S_IFREG else { return 0 }
            return try Mark(of: descriptor, inBoot: bootID)
                .bytesUsable(ofSize: Int64(status.st_size), inBoot: bootID)
        } catch  where error.leadsNowhere {
            return 0
        }
    }

    /// Adds bytes after those that are stored.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        // Before the bytes: without it, they count for as much as was durable in another boot.
        try setMark()
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
        // Before the bytes go: those that take their place are not durable.
        bytesDurable = 0
        try setMark()
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
        // What is sent is the file, which may be complete without another byte.
        try dropSurplus()
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
        bytesDurable = size
        // Nothing flushes it, so the power may take it; then the client brings some bytes again.
        try setMark()
    }

    /// Stores in the file what it is to say, unless it says so already.
    private func setMark() throws(StorageError) {
        let wanted = Mark(bootID: bootID, bytesDurable: bytesDurable)
        guard wanted != mark else { return }
        // With a mark of this boot, all bytes of the file count.
        try dropSurplus()
        try wanted.store(in: descriptor)
        mark = wanted
    }
}

extension StagedBody {
    /// What a file says of its bytes, in an attribute (xattr(7)).
    ///
    /// Where the file system keeps no attributes, all bytes count.
    private struct Mark: Equatable {
        /// The boot of the machine in which bytes were written last.
        let bootID: UUID
        /// The number of bytes that survive a power cut.
        let bytesDurable: Int64

        private static let name = "user.transferd.body"

        init(bootID: UUID, bytesDurable: Int64) {
            self.bootID = bootID
            self.bytesDurable = bytesDurable
        }

        /// Reads the mark of an open file; one without it has no durable bytes.
        init(of descriptor: Int32, inBoot bootID: UUID) throws(StorageError) {
            // A boot that is none.
            let noBootID = UUID()
            var value = (noBootID.uuid, Int64(0))
            let count = withUnsafeMutableBytes(of: &value) {
                clinux_attribute(descriptor, Self.name, $0.baseAddress, $0.count)
            }
            let error = StorageError(operation: "fgetxattr", errno: errno)
            if count == MemoryLayout.size(ofValue: value) {
                self.init(
                    bootID: UUID(uuid: value.0),
                    bytesDurable: max(0, Int64(littleEndian: value.1))
                )
            } else if count >= 0 || [ENODATA, ERANGE].contains(error.errno) {
                self.init(bootID: noBootID, bytesDurable: 0)
            } else if [EOPNOTSUPP, ENOSYS].contains(error.errno) {
                self.init(bootID: bootID, bytesDurable: 0)
            } else {
                throw error
            }
        }

        func store(in descriptor: Int32) throws(StorageError) {
            let value = (bootID.uuid, bytesDurable.littleEndian)
            let code = withUnsafeBytes(of: value) {
                clinux_set_attribute(descriptor, Self.name, $0.baseAddress, $0.count)
            }
            let error = StorageError(operation: "fsetxattr", errno: errno)
            guard code == 0 || [EOPNOTSUPP, ENOSYS].contains(error.errno) else { throw error }
        }

        /// Returns how many bytes of a file count in boot `bootID`.
        func bytesUsable(ofSize size: Int64, inBoot bootID: UUID) -> Int64 {
            bootID == self.bootID ? size : min(size, bytesDurable)
        }
    }
}

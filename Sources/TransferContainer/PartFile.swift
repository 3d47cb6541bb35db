import CLinux
import Glibc
package import TransferModel

/// The file to which the bytes of one attempt are written; it is closed when this object is
/// released.
///
/// `@unchecked Sendable` holds because one side owns it at a time: the loop that writes it hands it
/// over, through the completer's inbox and its lock, to the thread that makes it durable. A
/// follower beside them uses only the descriptor, to read.
package final class PartFile: @unchecked Sendable {
    /// The number of dirty bytes after which the kernel is asked to start writing, so that the
    /// final fsync of a large file does not wait for all of it.
    private static let writebackInterval: Int64 = 8 << 20

    package let place: Container.Place
    /// The fence that names the file.
    package let fence: Fence
    private let container: Container
    private let descriptor: Int32
    /// The ranges of bytes that were written.
    package private(set) var written = ByteRangeSet()
    /// Whether bytes are written elsewhere than at the end, so that the size says nothing.
    package private(set) var isSegmented = false
    private var bytesSubmitted: Int64 = 0
    /// The end of the bytes whose space is reserved.
    private var reservedEnd: Int64 = 0

    /// The number of bytes written.
    package var bytesWritten: Int64 { written.count }

    /// Creates the file empty and locks it.
    package init(
        _ place: Container.Place,
        fence: Fence,
        in container: Container
    ) throws(StorageError) {
        try container.requireSpaceLeft()
        self.place = place
        self.fence = fence
        self.container = container
        descriptor = try container.createPart(at: place)
        // Nobody else knows its name yet.
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Opens the file that an earlier attempt left; only its reliable bytes count as written.
    ///
    /// Returns nil when there are none, or when somebody still writes them: a worker that was
    /// declared dead but only sleeps holds its lock, while the lock of a killed process is gone.
    package init?(
        goingOnWith partial: PartialDownload,
        at place: Container.Place,
        in container: Container
    ) throws(StorageError) {
        guard let descriptor = try container.openPart(at: place) else { return nil }
        self.place = place
        fence = partial.partFence
        self.container = container
        self.descriptor = descriptor
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        // Whoever held the lock may have removed the file since it was opened.
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 0 else { return nil }
        isSegmented = status.st_mode & Self.segmentedBit != 0
        written = partial.rangesUsable(
            size: Int64(status.st_size),
            isSegmented: isSegmented,
            bootID: Boot.id
        )
        guard !written.isEmpty else { return nil }
        // Without the mark, whoever opens it next believes its size.
        if !isSegmented, ftruncate(descriptor, off_t(bytesWritten)) != 0 {
            throw StorageError(operation: "ftruncate", errno: errno)
        }
        bytesSubmitted = bytesWritten
        // Some file systems cannot reserve.
        if isSegmented, Int64(status.st_blocks) * 512 >= partial.bytesTotal {
            reservedEnd = partial.bytesTotal
        }
    }

    deinit { close(descriptor) }

    /// Releases the file to the next attempt; this one writes nothing more.
    package func unlock() { _ = flock(descriptor, LOCK_UN) }

    /// Marks the file as one whose size says nothing, and reserves the space it will need.
    ///
    /// The mark is the sticky bit, which has no other meaning to Linux on a file (inode(7)):
    /// whoever finds the file after a kill must know, whatever was stored about it. From then on
    /// only the ranges that were stored count; what was not stored is fetched again.
    ///
    /// - Returns: false where the file system cannot keep the mark.
    package func beginSegments(total: Int64) throws(StorageError) -> Bool {
        guard !isSegmented else { return true }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        guard fchmod(descriptor, status.st_mode | Self.segmentedBit) == 0,
            fstat(descriptor, &status) == 0, status.st_mode & Self.segmentedBit != 0
        else { return false }
        isSegmented = true
        try reserve(total, size: status.st_size)
        return true
    }

    /// Reserves the space for `total` bytes of a file that has `size` bytes.
    ///
    /// A full disk is better noticed before most of the bytes than after them; a file system that
    /// cannot reserve notices as it goes.
    private func reserve(_ total: Int64, size: off_t) throws(StorageError) {
        // One that cannot reserve may not know its space either.
        guard try reserves(1) else { return }
        // What does not fit takes nobody's space, not even for a moment.
        let free = try FileSystemSpace(of: descriptor).free - container.spaceLeft
        guard free >= total - Int64(size) else {
            throw StorageError(operation: "fallocate", errno: ENOSPC)
        }
        do throws(StorageError) {
            if try reserves(total) { reservedEnd = total }
        } catch {
            // ext4 keeps what it has got of a space that was not all there. Truncating to the same
            // size gives it back; a hole would end at the size.
            _ = ftruncate(descriptor, size)
            throw error
        }
    }

    /// Reserves the space of the first bytes.
    ///
    /// - Returns: false where the file system cannot.
    private func reserves(_ length: Int64) throws(StorageError) -> Bool {
        while clinux_reserve(descriptor, off_t(length)) != 0 {
            let code = errno
            if [EOPNOTSUPP, ENOSYS].contains(code) { return false }
            guard code == EINTR else { throw StorageError(operation: "fallocate", errno: code) }
        }
        return true
    }

    /// Removes the mark of ``beginSegments(total:)`` from a complete file.
    ///
    /// Its bytes are durable before: after a power cut, a file without the mark has no holes.
    package func endSegments() throws(StorageError) {
        guard isSegmented else { return }
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            fchmod(descriptor, status.st_mode & ~Self.segmentedBit) == 0
        else { throw StorageError(operation: "fchmod", errno: errno) }
        isSegmented = false
    }

    private static let segmentedBit = mode_t(S_ISVTX)

    /// Writes all of `bytes` at `offset`, or after the written bytes if it is nil.
    package func write(
        _ bytes: UnsafeRawBufferPointer,
        at offset: Int64? = nil
    ) throws(StorageError) {
        let start = offset ?? written.upperBound
        try container.writeAll(bytes, to: descriptor, at: start) { range throws(StorageError) in
            written.insert(range)
            if range.upperBound > reservedEnd { try container.wrote(range.count) }
        }
        beginWriteback()
    }

    private func beginWriteback() {
        let count = bytesWritten - bytesSubmitted
        guard count >= Self.writebackInterval else { return }
        // Only a hint: sync() does what it fails to start. A length of 0 means all to the end.
        _ = clinux_start_writeback(
            descriptor,
            isSegmented ? 0 : off_t(bytesSubmitted),
            isSegmented ? 0 : off_t(count)
        )
        bytesSubmitted = bytesWritten
    }

    /// Feeds bytes that were written before to the hasher.
    ///
    /// Blocks while reading; may be called from any thread because it only reads.
    package func hash(
        _ range: Range<Int64>,
        into hasher: inout ContentHasher
    ) throws(StorageError) {
        try hasher.update(file: descriptor, range: range)
    }

    /// Returns the identity of the file, whatever its name is later; asked once its bytes are
    /// durable.
    package func identity() throws(StorageError) -> FileIdentity {
        try FileIdentity(of: descriptor, bytes: bytesWritten)
    }

    /// Checks that the file still has its name.
    ///
    /// - Throws: ``StorageError``, with `ENOENT` when somebody has removed it, so that nobody would
    ///   find it.
    package func requireName() throws(StorageError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        guard status.st_nlink > 0 else { throw StorageError(operation: "fstat", errno: ENOENT) }
    }

    /// Discards the bytes and gives their space back, unless another attempt has the file.
    package func clear() throws(StorageError) {
        // This attempt may have unlocked it.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        guard ftruncate(descriptor, 0) == 0 else {
            throw StorageError(operation: "ftruncate", errno: errno)
        }
        written = ByteRangeSet()
        bytesSubmitted = 0
        reservedEnd = 0
    }

    /// Makes the bytes durable.
    ///
    /// After an error they may be lost, and repeating the call does not tell: the attempt is over.
    package func sync() throws(StorageError) {
        // fdatasync(2) need not keep the mark, and without it holes would count as bytes.
        guard (isSegmented ? fsync(descriptor) : fdatasync(descriptor)) == 0 else {
            throw StorageError(operation: isSegmented ? "fsync" : "fdatasync", errno: errno)
        }
    }
}

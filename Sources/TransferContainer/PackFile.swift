import CLinux
import Glibc
import TransferModel

/// A pack, opened to write, read or remove results in it; it is closed when this object is
/// released.
///
/// It begins with a table that has an entry for each of its fences, by which a result is found. The
/// results follow, each from a multiple of ``blockBytes`` on, so that it can give its blocks back
/// without those of others. Every call blocks on the disk.
final class PackFile: Sendable {
    /// The unit in which file systems give back space; where theirs is larger, less of it comes
    /// back before the pack goes.
    private static let blockBytes: Int64 = 4096

    let place: Container.Place
    private let container: Container
    private let descriptor: Int32

    /// Opens a pack to read results, or also to remove them; nil when there is none at that place.
    init?(
        _ place: Container.Place,
        in container: Container,
        isWritable: Bool
    ) throws(StorageError) {
        let descriptor =
            isWritable
            ? try container.openPart(at: place) : try container.openSource(at: place)
        guard let descriptor else { return nil }
        self.place = place
        self.container = container
        self.descriptor = descriptor
    }

    /// Creates a pack, and locks it for as long as it is open; nil when there has been one before.
    init?(new place: Container.Place, in container: Container) throws(StorageError) {
        guard let descriptor = try container.createPack(at: place) else { return nil }
        self.place = place
        self.container = container
        self.descriptor = descriptor
        // Whoever was faster may remove it, or has.
        guard lock(), hasName else { return nil }
    }

    deinit { close(descriptor) }

    /// The end of the table, where the first result begins.
    static let tableEnd = Int64(ResultLocation.packFences * PackEntry.bytes)

    /// Whether a result can begin at an offset.
    static func mayBegin(at offset: Int64) -> Bool {
        let bytesMax = Int64(ResultLocation.packFences * Packs.resultBytesMax)
        return offset % blockBytes == 0 && (tableEnd..<tableEnd + bytesMax).contains(offset)
    }

    /// Returns the place of the next result after one of `length` bytes at `offset`.
    static func end(of offset: Int64, _ length: Int) -> Int64 {
        (offset + Int64(length) + blockBytes - 1) / blockBytes * blockBytes
    }

    /// Takes the lock that a writer has as long as it lives; false when another has it.
    private func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Writes a result, and then its entry: whoever finds the entry finds the bytes.
    func write(
        _ result: UnsafeRawBufferPointer,
        _ entry: PackEntry,
        at index: Int
    ) throws(StorageError) {
        do throws(StorageError) {
            try container.writeAll(result, to: descriptor, at: entry.offset) {
                range throws(StorageError) in
                try container.wrote(range.count)
            }
            try write(entry.stored, at: index)
        } catch {
            giveBack(entry)
            throw error
        }
    }

    private func write(_ entry: [UInt8], at index: Int) throws(StorageError) {
        let offset = off_t(index * PackEntry.bytes)
        let count = pwrite(descriptor, entry, entry.count, offset)
        guard count == entry.count else {
            throw StorageError(operation: "pwrite", errno: count >= 0 ? EIO : errno)
        }
    }

    /// Returns the entry of a fence; nil where there is none.
    func entry(at index: Int) throws(StorageError) -> PackEntry? {
        try entries(index..<index + 1).first?.entry
    }

    /// Returns all entries, in the order of their fences.
    func entries() throws(StorageError) -> [(index: Int, entry: PackEntry)] {
        try entries(0..<ResultLocation.packFences)
    }

    private func entries(
        _ range: Range<Int>
    ) throws(StorageError) -> [(index: Int, entry: PackEntry)] {
        try withUnsafeTemporaryAllocation(
            byteCount: range.count * PackEntry.bytes,
            alignment: PackEntry.bytes
        ) { buffer throws(StorageError) in
            let count = try read(at: Int64(range.lowerBound * PackEntry.bytes), into: buffer)
            return range.prefix(count / PackEntry.bytes).compactMap { index in
                let start = (index - range.lowerBound) * PackEntry.bytes
                let stored = UnsafeRawBufferPointer(buffer)[start..<start + PackEntry.bytes]
                return PackEntry(UnsafeRawBufferPointer(rebasing: stored)).map { (index, $0) }
            }
        }
    }

    /// Reads bytes from `offset` on into `buffer`.
    ///
    /// - Returns: the number of bytes read; less than asked for only at the end of the file.
    func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + filled)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw StorageError(operation: "pread", errno: errno) }
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }

    /// Whether the bytes of a result are those that were written with its entry.
    func isWhole(_ entry: PackEntry) throws(StorageError) -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: entry.length, alignment: 64) {
            buffer throws(StorageError) in
            try read(at: entry.offset, into: buffer) == entry.length
                && clinux_crc32c(0, buffer.baseAddress, buffer.count) == entry.checksum
        }
    }

    /// Removes the result of a task, and the pack with its last one.
    func remove(_ task: TaskID, at index: Int) throws(StorageError) {
        guard let entry = try entry(at: index), entry.task == task else { return }
        // The entry goes first: who still finds it after reading bytes has read no zeros.
        try write([UInt8](repeating: 0, count: PackEntry.bytes), at: index)
        giveBack(entry)
        try removeIfEmpty()
    }

    /// Gives back the blocks of a result; what cannot be given back goes with the pack.
    private func giveBack(_ entry: PackEntry) {
        let end = Self.end(of: entry.offset, entry.length)
        while clinux_punch_hole(descriptor, off_t(entry.offset), off_t(end - entry.offset)) != 0,
            errno == EINTR
        {}
    }

    /// Whether no result is left and nobody may add another; if so, whoever asks has the lock now.
    func isAbandoned() throws(StorageError) -> Bool {
        // Before the lock: whoever of several clears the last entry is in the way of nobody who has
        // seen fewer of them gone.
        guard try entries().isEmpty, lock() else { return false }
        // Another may have removed it before, and its place may be that of a new one.
        guard hasName else { return false }
        return try entries().isEmpty
    }

    /// Removes a pack without results, unless another may be added.
    func removeIfEmpty() throws(StorageError) {
        if try isAbandoned() { try container.unlink(place) }
    }

    /// Makes everything written so far durable, but not the name.
    func sync() throws(StorageError) {
        guard fdatasync(descriptor) == 0 else {
            throw StorageError(operation: "fdatasync", errno: errno)
        }
    }

    /// Whether nobody has removed the file, so that what is in it will be found.
    var hasName: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }
}

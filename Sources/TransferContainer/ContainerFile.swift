import CLinux
package import Foundation
import Glibc
package import TransferModel

/// A file of the container, or a result in a pack, that is open for reading; it is closed when this
/// object is released.
///
/// Every call blocks on the disk.
package final class ContainerFile: Sendable {
    private enum Source {
        case file(Int32, Version)
        case pack(Container.Packed, Container.Place)
    }

    /// The metadata that change when somebody writes to a file.
    ///
    /// The time of its status is none of them: a backup that links the file, a new owner or mode,
    /// and the removal of its name change that time and no byte. Who writes as many bytes in place
    /// and then sets the time of the last write back is not noticed.
    private struct Version: Equatable {
        let size: Int64
        /// When the bytes changed last.
        let modified: Time

        struct Time: Equatable {
            let seconds: Int
            let nanoseconds: Int

            init(_ time: timespec) {
                seconds = time.tv_sec
                nanoseconds = time.tv_nsec
            }
        }

        init?(of descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                return nil
            }
            size = Int64(status.st_size)
            modified = Time(status.st_mtim)
        }
    }

    private let source: Source

    /// Opens a plain file, or the result that would have it.
    ///
    /// - Throws: ``StorageError``, with `EISDIR` for whatever is no plain file, and `ENOENT` also
    ///   for a result whose bytes are not those that were written: it was being removed, or not
    ///   durable.
    package init(_ place: Container.Place, in container: Container) throws(StorageError) {
        guard let descriptor = try container.openSource(at: place) else {
            guard let packed = try container.packed(place), try packed.pack.isWhole(packed.entry)
            else { throw StorageError(operation: "openat2", errno: ENOENT) }
            source = .pack(packed, place)
            return
        }
        guard let version = Version(of: descriptor) else {
            close(descriptor)
            throw StorageError(operation: "fstat", errno: EISDIR)
        }
        source = .file(descriptor, version)
    }

    deinit { if case .file(let descriptor, _) = source { close(descriptor) } }

    /// The size in bytes when the file was opened.
    package var size: Int64 {
        switch source {
        case .file(_, let version): version.size
        case .pack(let packed, _): Int64(packed.entry.length)
        }
    }

    /// A value that changes whenever the bytes can have changed.
    ///
    /// A client's file may be overwritten by a later task. A result in a pack is not, and its name
    /// has its fence; when the pack was written last says nothing about it.
    package var tag: String {
        switch source {
        case .file(_, let version):
            String(version.modified.seconds, radix: 36) + "."
                + String(version.modified.nanoseconds, radix: 36)
        case .pack(_, let place): String(place.name.suffix(16))
        }
    }

    /// When the bytes were last written; nil of a result in a pack.
    package var modifiedAt: Date? {
        switch source {
        case .file(_, let version):
            let time = version.modified
            return Date(
                timeIntervalSince1970: Double(time.seconds) + Double(time.nanoseconds) / 1e9
            )
        case .pack: return nil
        }
    }

    /// Returns the identity of the file; nil of a result in a pack.
    package func identity() throws(StorageError) -> FileIdentity? {
        switch source {
        case .file(let descriptor, _):
            var found = clinux_identity()
            guard clinux_identify(descriptor, "", &found) == 0 else {
                throw StorageError(operation: "statx", errno: errno)
            }
            return FileIdentity(found)
        case .pack: return nil
        }
    }

    /// Whether the file has the bytes of a result that was put at its place.
    ///
    /// A destination may have another task's file by now. One that was written after the result's
    /// task had ended is not its content; an older one is probably a copy that an operator has put
    /// there.
    package func holds(_ content: TransferResult.Content) throws(StorageError) -> Bool {
        guard size == content.bytes else { return false }
        guard let file = content.file, try identity() != file else { return true }
        return (modifiedAt ?? .distantPast) <= content.finishedAt
    }

    /// A text that changes with the bytes, as far as size and time of the last write tell.
    package var version: String {
        switch source {
        case .file(_, let version):
            return "\(version.size) \(version.modified.seconds).\(version.modified.nanoseconds)"
        case .pack: return tag
        }
    }

    /// Whether nobody has written to the file since it was opened.
    package var isUnchanged: Bool {
        switch source {
        case .file(let descriptor, let version): Version(of: descriptor) == version
        case .pack(let packed, _):
            (try? packed.pack.entry(at: packed.index)) == packed.entry
        }
    }

    /// Reads bytes from `offset` on into `buffer`.
    ///
    /// - Returns: the number of bytes read; 0 at the end of the file.
    /// - Throws: ``StorageError``, with `ENOENT` when a result in a pack was removed since.
    package func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Int {
        switch source {
        case .file(let descriptor, _):
            while true {
                let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                if count >= 0 { return count }
                guard errno == EINTR else { throw StorageError(operation: "pread", errno: errno) }
            }
        case .pack(let packed, _):
            let limit = Int(clamping: max(0, size - offset))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(limit))
            let count = try packed.pack.read(at: packed.entry.offset + offset, into: piece)
            // A removal takes the entry away first, and then leaves zeros.
            guard isUnchanged else { throw StorageError(operation: "pread", errno: ENOENT) }
            return count
        }
    }
}

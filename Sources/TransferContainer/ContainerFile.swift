import Glibc

/// A file of the container that is open for reading; it is closed when this object is released.
///
/// Every call blocks on the disk.
package final class ContainerFile: Sendable {
    /// The metadata that change when somebody writes to the file.
    package struct Version: Equatable, Sendable {
        /// The size in bytes.
        package let size: Int64
        /// When the bytes changed last: seconds since 1970, and the nanoseconds beyond them.
        package let modified: Time
        /// When the bytes or the metadata changed last.
        package let changed: Time

        /// A time of the file system.
        package struct Time: Equatable, Sendable {
            package let seconds: Int
            package let nanoseconds: Int

            init(_ time: timespec) {
                seconds = time.tv_sec
                nanoseconds = time.tv_nsec
            }
        }

        fileprivate init?(of descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                return nil
            }
            size = Int64(status.st_size)
            modified = Time(status.st_mtim)
            changed = Time(status.st_ctim)
        }
    }

    /// What the file was when it was opened.
    package let version: Version
    private let descriptor: Int32

    /// Opens a plain file.
    ///
    /// - Throws: ``StorageError``, with `EISDIR` for whatever is no plain file.
    package init(_ place: Container.Place, in container: Container) throws(StorageError) {
        descriptor = try container.openSource(at: place)
        guard let version = Version(of: descriptor) else {
            close(descriptor)
            throw StorageError(operation: "fstat", errno: EISDIR)
        }
        self.version = version
    }

    deinit { close(descriptor) }

    /// The size in bytes when the file was opened.
    package var size: Int64 { version.size }

    /// Whether nobody has written to the file since it was opened.
    package var isUnchanged: Bool { Version(of: descriptor) == version }

    /// Reads bytes from `offset` on into `buffer`.
    ///
    /// - Returns: the number of bytes read; 0 at the end of the file.
    package func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw StorageError(operation: "pread", errno: errno) }
        }
    }
}

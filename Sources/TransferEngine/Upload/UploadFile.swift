import Curl
import Glibc
import Synchronization
import TransferContainer
import TransferModel

/// The file whose bytes are sent; it is closed when this object is released.
final class UploadFile: CurlBodySource {
    private let descriptor: Int32
    private let version: Version
    private let offset = Atomic<Int64>(0)

    /// The metadata that change when somebody writes to the file.
    private struct Version: Equatable {
        let size: Int64
        let modified: Int64
        let changed: Int64

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                return nil
            }
            size = Int64(status.st_size)
            modified = Self.nanoseconds(status.st_mtim)
            changed = Self.nanoseconds(status.st_ctim)
        }

        private static func nanoseconds(_ time: timespec) -> Int64 {
            Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
        }
    }

    /// Opens a regular file.
    init(_ place: Container.Place, in container: Container) throws(StorageError) {
        descriptor = try container.openSource(at: place)
        guard let version = Version(descriptor) else {
            close(descriptor)
            throw StorageError(operation: "fstat", errno: EISDIR)
        }
        self.version = version
    }

    deinit { close(descriptor) }

    /// The number of bytes given to libcurl.
    var bytesRead: Int64 { offset.load(ordering: .relaxed) }

    var length: Int64? { version.size }

    /// Whether nobody has written to the file since it was opened.
    var isUnchanged: Bool { Version(descriptor) == version }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let limit = min(Int64(buffer.count), version.size - bytesRead)
        guard limit > 0 else { return 0 }
        while true {
            let count = pread(descriptor, buffer.baseAddress, Int(limit), off_t(bytesRead))
            if count < 0, errno == EINTR { continue }
            // A file that has become shorter is never passed off as complete.
            guard count > 0 else { return nil }
            offset.add(Int64(count), ordering: .relaxed)
            return count
        }
    }

    func rewind() -> Bool {
        offset.store(0, ordering: .relaxed)
        return true
    }
}

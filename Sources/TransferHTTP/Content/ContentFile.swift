import Foundation
import NIOCore
import TransferContainer

#if canImport(Glibc)
    import Glibc
#endif

/// An open result file, whose descriptor stays open as long as this value is referenced.
///
/// Every call blocks on the disk and belongs on a thread pool.
final class ContentFile: Sendable {
    /// The reason why there is no content.
    enum Failure: Error, Equatable {
        /// The file was removed, replaced by something else or has another length.
        case gone
        /// The file system failed.
        case system(errno: Int32)
    }

    let size: Int64
    /// A value that changes whenever the bytes can have changed: a later task may have overwritten
    /// the file.
    let version: String
    private let descriptor: Int32

    /// Opens a file of the container.
    init(_ place: Container.Place, in container: Container) throws(Failure) {
        let file: Int32
        do throws(StorageError) {
            file = try container.openSource(at: place)
        } catch {
            throw Self.failure(error.errno)
        }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw .gone
        }
        descriptor = file
        size = Int64(status.st_size)
        let modified = status.st_mtim
        version =
            String(modified.tv_sec, radix: 36) + "." + String(modified.tv_nsec, radix: 36)
    }

    deinit { close(descriptor) }

    /// Returns the bytes of `range`.
    ///
    /// - Throws: ``Failure/gone`` when the file has become shorter.
    func read(_ range: Range<Int64>) throws(Failure) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            var code: Int32 = 0
            let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) { bytes in
                let wanted = min(bytes.count, Int(range.upperBound - offset))
                let count = pread(descriptor, bytes.baseAddress, wanted, off_t(offset))
                if count < 0 { code = errno }
                return max(0, count)
            }
            if code == EINTR { continue }
            guard code == 0 else { throw .system(errno: code) }
            guard count > 0 else { throw .gone }
            offset += Int64(count)
        }
        return buffer
    }

    private static func failure(_ code: Int32) -> Failure {
        switch code {
        case ENOENT, ENOTDIR, ELOOP, EXDEV, ENXIO: .gone
        default: .system(errno: code)
        }
    }
}

import CLinux
import Foundation
import NIOCore
import TransferModel

#if canImport(Glibc)
    import Glibc
#endif

/// An open result file; its descriptor lives as long as this value is referenced.
///
/// Every call blocks on the disk: they belong on a thread pool.
final class ContentFile: Sendable {
    /// Why there is no content.
    enum Failure: Error, Equatable {
        /// The file was removed, replaced by something else or has another length.
        case gone
        /// The file system failed.
        case system(errno: Int32)
    }

    let size: Int64
    /// Changes whenever the bytes can have changed: a later task may have overwritten the file.
    let version: String
    private let descriptor: Int32

    /// Opens `path` in the tenant's container, following no link and leaving it nowhere.
    init(root: String, tenant: TenantID, path: String) throws(Failure) {
        let container = "\(root)/\(tenant.uuid.uuidString.lowercased())"
        let directory = open(container, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Self.failure(errno) }
        // Not blocking: a FIFO that somebody put there must not hold a thread.
        let file = clinux_open_beneath(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
        let code = errno
        close(directory)
        guard file >= 0 else { throw Self.failure(code) }
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

    /// The bytes of `range`.
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

import CLinux
import Glibc

/// The file that the bytes of one attempt are written to; closed when it goes away.
///
/// `@unchecked Sendable` holds because one side owns it at a time: the loop that writes it hands it
/// over, by the publisher's inbox and its lock, to the thread that makes it durable.
final class PartFile: @unchecked Sendable {
    /// Dirty bytes after which the kernel is asked to begin writing, so that the final fsync of a
    /// large file does not wait for all of it.
    private static let writebackInterval: Int64 = 8 << 20

    let place: Container.Place
    private let descriptor: Int32
    private(set) var bytesWritten: Int64 = 0
    private var bytesSubmitted: Int64 = 0

    init(_ place: Container.Place, in container: Container) throws(StorageError) {
        self.place = place
        descriptor = try container.createPart(at: place)
    }

    deinit { close(descriptor) }

    /// Appends all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(
                descriptor,
                UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                rest.count
            )
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw StorageError(operation: "write", errno: count == 0 ? EIO : errno)
            }
            rest = rest.dropFirst(count)
            bytesWritten += Int64(count)
        }
        if bytesWritten - bytesSubmitted >= Self.writebackInterval {
            // Only a hint: what it fails to begin, sync() does.
            _ = clinux_start_writeback(
                descriptor,
                off_t(bytesSubmitted),
                off_t(bytesWritten - bytesSubmitted)
            )
            bytesSubmitted = bytesWritten
        }
    }

    /// Makes the bytes durable.
    ///
    /// After an error they may be lost, and no repetition tells:
    /// the attempt is over.
    func sync() throws(StorageError) {
        guard fdatasync(descriptor) == 0 else {
            throw StorageError(operation: "fdatasync", errno: errno)
        }
    }
}

import CLinux
import Glibc
import TransferContainer
import TransferModel

/// The file that the bytes of one attempt are written to; closed when it goes away.
///
/// `@unchecked Sendable` holds because one side owns it at a time: the loop that writes it hands it
/// over, by the publisher's inbox and its lock, to the thread that makes it durable.
final class PartFile: @unchecked Sendable {
    /// Dirty bytes after which the kernel is asked to begin writing, so that the final fsync of a
    /// large file does not wait for all of it.
    private static let writebackInterval: Int64 = 8 << 20

    let place: Container.Place
    /// Names the file.
    let fence: Fence
    private let descriptor: Int32
    /// How long the file is.
    private(set) var bytesWritten: Int64 = 0
    private var bytesSubmitted: Int64 = 0

    /// Creates the file empty and locks it.
    init(_ place: Container.Place, fence: Fence, in container: Container) throws(StorageError) {
        self.place = place
        self.fence = fence
        descriptor = try container.createPart(at: place)
        // Nobody else knows its name yet.
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Opens what an earlier attempt left, cut to the bytes that can be relied on.
    ///
    /// Nil when there are none, or when somebody still writes them: a worker that was declared
    /// dead and only sleeps holds its lock, while that of a killed process is gone.
    init?(
        goingOnWith partial: PartialDownload,
        at place: Container.Place,
        in container: Container
    ) throws(StorageError) {
        guard let descriptor = try container.openPart(at: place) else { return nil }
        self.place = place
        fence = partial.partFence
        self.descriptor = descriptor
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(operation: "fstat", errno: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        let size = Int64(status.st_size)
        let usable = partial.bytesUsable(size: size, bootID: Boot.id)
        guard usable > 0 else { return nil }
        guard ftruncate(descriptor, off_t(usable)) == 0,
            lseek(descriptor, off_t(usable), SEEK_SET) == off_t(usable)
        else { throw StorageError(operation: "ftruncate", errno: errno) }
        bytesWritten = usable
        bytesSubmitted = usable
    }

    deinit { close(descriptor) }

    /// Lets the next attempt have the file; nothing is written by this one any more.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

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

    /// Has the hasher take the bytes that are there.
    ///
    /// Blocks for as long as the reading takes.
    func hash(into hasher: inout ContentHasher) throws(StorageError) {
        try hasher.update(file: descriptor, range: 0..<bytesWritten)
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

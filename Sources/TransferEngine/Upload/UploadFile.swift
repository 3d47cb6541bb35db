import Curl
import Glibc
import Synchronization
import TransferContainer
import TransferModel

/// The file whose bytes are sent, or only the rest of them.
final class UploadFile: CurlBodySource {
    private let file: ContainerFile
    private let start = Atomic<Int64>(0)
    private let offset = Atomic<Int64>(0)

    /// Opens a plain file.
    ///
    /// - Throws: ``StorageError``, with `ENOENT` also for a file without the bytes of `content`.
    init(
        _ place: Container.Place,
        in container: Container,
        holding content: TransferResult.Content? = nil
    ) throws(StorageError) {
        file = try ContainerFile(place, in: container)
        guard let content, try !file.holds(content) else { return }
        throw StorageError(operation: "statx", errno: ENOENT)
    }

    /// How far libcurl was given the file.
    var position: Int64 { offset.load(ordering: .relaxed) }

    var size: Int64 { file.size }

    var length: Int64? { file.size - start.load(ordering: .relaxed) }

    /// Whether nobody has written to the file since it was opened.
    var isUnchanged: Bool { file.isUnchanged }

    /// A text that another content of the file would change.
    var version: String { file.version }

    /// Lets the next request send the file from `start` on, at most ``size``.
    func send(from start: Int64) {
        self.start.store(start, ordering: .relaxed)
        offset.store(start, ordering: .relaxed)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let start = position
        let limit = Int(min(Int64(buffer.count), file.size - start))
        guard limit > 0 else { return .bytes(0) }
        do throws(StorageError) {
            let count = try file.read(at: start, into: .init(rebasing: buffer[..<limit]))
            // A file that has become shorter is never passed off as complete.
            guard count > 0 else { return .failed }
            offset.add(Int64(count), ordering: .relaxed)
            return .bytes(count)
        } catch {
            // libcurl ends the transfer; whether the file has changed is asked then.
            return .failed
        }
    }

    func rewind() -> Bool {
        send(from: start.load(ordering: .relaxed))
        return true
    }
}

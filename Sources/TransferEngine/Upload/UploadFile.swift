import Curl
import Synchronization
import TransferContainer

/// The file whose bytes are sent.
final class UploadFile: CurlBodySource {
    private let file: ContainerFile
    private let offset = Atomic<Int64>(0)

    /// Opens a plain file.
    init(_ place: Container.Place, in container: Container) throws(StorageError) {
        file = try ContainerFile(place, in: container)
    }

    /// The number of bytes given to libcurl.
    var bytesRead: Int64 { offset.load(ordering: .relaxed) }

    var length: Int64? { file.size }

    /// Whether nobody has written to the file since it was opened.
    var isUnchanged: Bool { file.isUnchanged }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let start = bytesRead
        let limit = Int(min(Int64(buffer.count), file.size - start))
        guard limit > 0 else { return 0 }
        do throws(StorageError) {
            let count = try file.read(at: start, into: .init(rebasing: buffer[..<limit]))
            // A file that has become shorter is never passed off as complete.
            guard count > 0 else { return nil }
            offset.add(Int64(count), ordering: .relaxed)
            return count
        } catch {
            // libcurl ends the transfer; whether the file has changed is asked then.
            return nil
        }
    }

    func rewind() -> Bool {
        offset.store(0, ordering: .relaxed)
        return true
    }
}

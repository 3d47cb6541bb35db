import Foundation
import Glibc
import NIOCore
import TransferContainer
import TransferModel

/// A result as a response has it.
///
/// Every call blocks on the disk and belongs on a thread pool.
struct ContentFile: Sendable {
    /// The reason why there is no content.
    enum Failure: Error, Equatable {
        /// The file was removed, replaced by something else or has another length.
        case gone
        case storage(StorageError)
    }

    private let file: ContainerFile

    /// Opens a file of the container.
    init(_ place: Container.Place, in container: Container) throws(Failure) {
        do throws(StorageError) {
            file = try ContainerFile(place, in: container)
        } catch {
            throw Failure(error)
        }
    }

    var size: Int64 { file.size }

    /// When the bytes were last written; nil of a result in a pack.
    var modifiedAt: Date? { file.modifiedAt }

    /// Whether this is the very file that has `identity`, and not another of the same name.
    func isFile(_ identity: FileIdentity) throws(Failure) -> Bool {
        do throws(StorageError) {
            return try file.identity() == identity
        } catch {
            throw Failure(error)
        }
    }

    /// A value that changes whenever the bytes can have changed.
    var tag: String { file.tag }

    /// Returns the bytes of `range`.
    ///
    /// - Throws: ``Failure/gone`` when the file has become shorter.
    func read(_ range: Range<Int64>) throws(Failure) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: range.count)
        var offset = range.lowerBound
        do {
            while offset < range.upperBound {
                let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) {
                    let wanted = min($0.count, Int(range.upperBound - offset))
                    return try file.read(at: offset, into: .init(rebasing: $0[..<wanted]))
                }
                guard count > 0 else { throw StorageError(operation: "pread", errno: ENOENT) }
                offset += Int64(count)
            }
        } catch let error as StorageError {
            throw Failure(error)
        } catch {
            // Nothing else is thrown above, but the buffer's closure has no type for it.
            throw .gone
        }
        return buffer
    }
}

extension ContentFile.Failure {
    fileprivate init(_ error: StorageError) {
        switch error.errno {
        case ENOENT, ENOTDIR, ELOOP, EXDEV, ENXIO, EISDIR: self = .gone
        default: self = .storage(error)
        }
    }
}

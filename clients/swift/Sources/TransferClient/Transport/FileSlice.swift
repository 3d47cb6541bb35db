public import Foundation
public import NIOCore
import NIOPosix

/// The bytes of a file from an offset to its end.
public struct FileSlice: Sendable {
    /// The most bytes that are read at once.
    private static let chunkBytes = 256 * 1024

    /// The file.
    public let file: URL
    /// The number of bytes that are left out at its start.
    public let offset: Int64
    /// The number of bytes.
    public let count: Int64

    /// Names bytes of a file.
    public init(file: URL, offset: Int64, count: Int64) {
        self.file = file
        self.offset = offset
        self.count = count
    }

    /// Checks that there is a regular file that has the bytes; blocks.
    package func check() throws(TransportFailure) { _ = try openFile() }

    fileprivate func openFile() throws(TransportFailure) -> FileHandle {
        let body = try BodyFile(file)
        guard body.size - offset >= count else { throw tooShort }
        return body.handle
    }

    fileprivate var tooShort: TransportFailure {
        TransportFailure(unreadable: file, "It has become shorter")
    }
}

extension FileSlice: AsyncSequence {
    /// Opens the file when its first bytes are asked for.
    public func makeAsyncIterator() -> Iterator { Iterator(slice: self) }

    /// Reads the bytes on a thread that may block.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let slice: FileSlice
        private var handle: FileHandle?
        private var remaining: Int64

        fileprivate init(slice: FileSlice) {
            self.slice = slice
            remaining = slice.count
        }

        /// Returns the next bytes; nil after the last.
        ///
        /// - Throws: ``TransportFailure`` of the kind `unreadable`, also when the file has become
        ///   shorter.
        public mutating func next() async throws -> ByteBuffer? {
            guard remaining > 0 else { return nil }
            let data: Data?
            do {
                data = try await read(Int(Swift.min(remaining, Int64(FileSlice.chunkBytes))))
            } catch {
                if error is TransportFailure || error is CancellationError { throw error }
                throw TransportFailure(unreadable: slice.file, error.localizedDescription)
            }
            guard let data, !data.isEmpty else { throw slice.tooShort }
            remaining -= Int64(data.count)
            return ByteBuffer(bytes: data)
        }

        private mutating func read(_ count: Int) async throws -> Data? {
            let handle = try await opened()
            return try await NIOThreadPool.singleton.runIfActive {
                try handle.read(upToCount: count)
            }
        }

        private mutating func opened() async throws -> FileHandle {
            if let handle { return handle }
            let slice = slice
            let handle = try await NIOThreadPool.singleton.runIfActive {
                let handle = try slice.openFile()
                try handle.seek(toOffset: UInt64(slice.offset))
                return handle
            }
            self.handle = handle
            return handle
        }
    }
}

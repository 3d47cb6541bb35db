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
    /// The file if it is open: a further request continues with the bytes of this very one.
    private let body: BodyFile?

    /// Names bytes of a file.
    public init(file: URL, offset: Int64, count: Int64) {
        self.file = file
        self.offset = offset
        self.count = count
        body = nil
    }

    /// Names the bytes of an open file behind `offset`.
    init(_ body: BodyFile, from offset: Int64) {
        file = body.file
        self.offset = offset
        count = body.size - offset
        self.body = body
    }

    /// Checks that there is a regular file of that name that has the bytes; blocks.
    ///
    /// For a transport that opens the file by itself: if the file is open already, it has to be
    /// the one that has the name, before the request as well as after it.
    ///
    /// - Throws: ``TransportFailure`` of the kind `unreadable`.
    package func check() throws(TransportFailure) {
        try opened().checkNamed()
    }

    /// Returns the open file; blocks.
    fileprivate func opened() throws(TransportFailure) -> BodyFile {
        let opened = if let body { body } else { try BodyFile(file) }
        guard opened.size - offset >= count else { throw tooShort }
        return opened
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
        private var body: BodyFile?
        private var remaining: Int64

        fileprivate init(slice: FileSlice) {
            self.slice = slice
            remaining = slice.count
        }

        /// Returns the next bytes; nil after the last.
        ///
        /// - Throws: ``TransportFailure`` of the kind `unreadable`, also when the file has become
        ///   shorter, or was written to before these bytes were read.
        public mutating func next() async throws -> ByteBuffer? {
            guard remaining > 0 else { return nil }
            let (slice, known, missing) = (slice, body, remaining)
            let part = try await NIOThreadPool.singleton.runIfActive {
                () throws -> (file: BodyFile, bytes: [UInt8]) in
                let file = if let known { known } else { try slice.opened() }
                let bytes = try file.read(
                    Int(Swift.min(missing, Int64(FileSlice.chunkBytes))),
                    at: slice.offset + slice.count - missing
                )
                // With each part: what follows a change is of no use, and a request that does not
                // bring its last bytes brings no whole file.
                try file.checkUnchanged()
                return (file, bytes)
            }
            guard !part.bytes.isEmpty else { throw slice.tooShort }
            body = part.file
            remaining -= Int64(part.bytes.count)
            return ByteBuffer(bytes: part.bytes)
        }
    }
}

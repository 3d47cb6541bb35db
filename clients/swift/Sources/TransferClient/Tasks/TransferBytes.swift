import TransferWire

/// The bytes of a result in parts, as fast as they are used.
///
/// A reader whose connection breaks off continues behind the last byte, as long as the content is
/// the same.
public struct TransferBytes: AsyncSequence, Sendable {
    /// A part of the bytes.
    public typealias Element = [UInt8]
    /// The reason why the bytes cannot be read.
    public typealias Failure = TransferError

    let service: TransferService
    let path: String

    /// Sends a request with the first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(service: service, path: path) }

    /// The reader of the bytes.
    public struct Iterator: AsyncIteratorProtocol {
        /// The reason why the bytes cannot be read.
        public typealias Failure = TransferError

        private let service: TransferService
        private let path: String
        private var parts: (any AsyncIteratorProtocol<[UInt8], any Error>)?
        private var offset: Int64 = 0
        private var size: Int64?
        private var entityTag: String?
        private var failures = 0
        private var isOver = false

        fileprivate init(service: TransferService, path: String) {
            self.service = service
            self.path = path
        }

        /// Returns the next part; nil at the end.
        ///
        /// - Throws: ``TransferError`` when several requests in a row brought nothing, with the
        ///   code `content_gone` when the file is no longer there.
        public mutating func next() async throws(TransferError) -> [UInt8]? {
            while !isOver {
                do throws(TransferError) {
                    if let part = try await read() { return part }
                    isOver = true
                } catch {
                    parts = nil
                    failures += 1
                    let delay = service.retryPolicy.delay(
                        after: error,
                        attempts: failures,
                        isRepeatable: true,
                        fraction: .random(in: 0...1)
                    )
                    guard let delay else {
                        isOver = true
                        throw error
                    }
                    try await TransferService.pause(delay)
                }
            }
            return nil
        }

        private mutating func read() async throws(TransferError) -> [UInt8]? {
            if parts == nil, let size, offset == size, offset > 0 { return nil }
            var reading = try await opened()
            do {
                guard let part = try await reading.next() else {
                    // A sequence may just end when its reader is cancelled.
                    try Task.checkCancellation()
                    guard size == nil || size == offset else {
                        throw TransferError(.unreachable, "The content has broken off.")
                    }
                    return nil
                }
                parts = reading
                offset += Int64(part.count)
                failures = 0
                return part
            } catch {
                throw TransferError(reading: error)
            }
        }

        private mutating func opened() async throws(TransferError)
            -> any AsyncIteratorProtocol<[UInt8], any Error>
        {
            if let parts { return parts }
            var request = ServiceRequest("GET", path)
            if offset > 0, let entityTag {
                request = request.adding("Range", "bytes=\(offset)-")
                    .adding("If-Range", entityTag)
            }
            let response = try await service.open(request)
            if offset > 0 {
                guard response.status == 206 else {
                    isOver = true
                    throw TransferError(
                        .unexpectedResponse,
                        "The content has changed while it was read."
                    )
                }
            } else {
                entityTag = response.header("ETag")
                size = response.header("Content-Length").flatMap { Int64($0) }
            }
            return response.body.makeAsyncIterator()
        }
    }
}

import TransferWire

/// The bytes of a result in parts, as fast as they are used.
///
/// A reader whose connection breaks off continues behind the last byte, as long as the content is
/// the same. A response that does not name the task, as that of a proxy in the service's place, is
/// an error and none of its bytes are handed out.
public struct TransferBytes: AsyncSequence, Sendable {
    /// A part of the bytes.
    public typealias Element = [UInt8]
    /// The reason why the bytes cannot be read.
    public typealias Failure = TransferError

    let service: TransferService
    let taskID: String
    /// The handle whose lease is renewed while somebody reads; nil for the bytes of a task by its
    /// identifier.
    var task: TransferTask?

    /// Sends a request with the first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(bytes: self) }

    /// The reader of the bytes.
    public struct Iterator: AsyncIteratorProtocol {
        /// The reason why the bytes cannot be read.
        public typealias Failure = TransferError

        private let bytes: TransferBytes
        private var service: TransferService { bytes.service }
        private var taskID: String { bytes.taskID }
        private var parts: (any AsyncIteratorProtocol<[UInt8], any Error>)?
        private var offset: Int64 = 0
        private var size: Int64?
        private var entityTag: String?
        private var failures = 0
        private var isOver = false

        fileprivate init(bytes: TransferBytes) { self.bytes = bytes }

        /// Returns the next part; nil at the end.
        ///
        /// - Throws: ``TransferError`` when several requests in a row brought nothing, with the
        ///   code `content_gone` when the file is no longer there, and `unexpected_response` when
        ///   a response is not the one with the bytes that follow.
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
            var request = ServiceRequest("GET", APIPath.content(of: taskID))
            if offset > 0, let entityTag {
                request = request.adding("Range", "bytes=\(offset)-")
                    .adding("If-Range", entityTag)
            }
            let response = try await service.open(request)
            // As the service has sent it: a proxy may have made it a weak one (RFC 9110 §8.8.1).
            let tag = response.header("ETag").map {
                $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0
            }
            // The tag of a content begins with its task; no other response has such a one.
            guard let tag, tag.lowercased().hasPrefix("\"\(taskID.lowercased())-") else {
                throw Self.unexpected("The response is not the content of the task.")
            }
            if offset > 0 {
                guard response.status == 206, tag == entityTag else {
                    throw Self.unexpected("The content has changed while it was read.")
                }
                guard isOfRest(response.header("Content-Range")) else {
                    throw Self.unexpected("The response has other bytes than those asked for.")
                }
            } else {
                guard response.status == 200 else {
                    throw Self.unexpected("The response has only a part of the content.")
                }
                entityTag = tag
                size = response.header("Content-Length").flatMap { Int64($0) }
            }
            return response.body.makeAsyncIterator()
        }

        /// Whether a range is all that is missing (RFC 9110 §14.4).
        private func isOfRest(_ range: String?) -> Bool {
            guard let size else { return range?.hasPrefix("bytes \(offset)-") ?? false }
            return range == "bytes \(offset)-\(size - 1)/\(size)"
        }

        private static func unexpected(_ message: String) -> TransferError {
            TransferError(.unexpectedResponse, message)
        }
    }
}

import NIOCore

/// The bytes of a file whose sending is watched.
struct WatchedSlice: AsyncSequence, Sendable {
    let slice: FileSlice
    let watch: SendingWatch

    func makeAsyncIterator() -> Iterator {
        Iterator(parts: slice.makeAsyncIterator(), watch: watch)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var parts: FileSlice.Iterator
        fileprivate let watch: SendingWatch

        mutating func next() async throws -> ByteBuffer? {
            watch.partTaken()
            let part = try await parts.next()
            if part == nil { watch.ended() }
            return part
        }
    }
}

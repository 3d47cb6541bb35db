import TransferClient

/// The body of a response, whose request ends with the last reference to it.
struct ResponseParts: AsyncSequence, Sendable {
    fileprivate final class Owner: Sendable {
        let exchange: Exchange

        init(_ exchange: Exchange) { self.exchange = exchange }

        deinit { exchange.abandon() }
    }

    private let owner: Owner

    init(_ exchange: Exchange) { owner = Owner(exchange) }

    func makeAsyncIterator() -> Iterator { Iterator(owner: owner) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let owner: Owner

        mutating func next() async throws -> [UInt8]? { try await owner.exchange.next() }
    }
}

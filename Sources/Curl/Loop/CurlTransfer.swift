/// Names one transfer of one loop.
package struct CurlTransfer: Sendable, Hashable {
    private let loop: CurlLoop
    let id: UInt64

    init(loop: CurlLoop, id: UInt64) {
        self.loop = loop
        self.id = id
    }

    /// Ends the transfer from any thread.
    ///
    /// The sink's `finish` follows with `cancelled`, unless the transfer has ended by itself; in
    /// either case it is called exactly once.
    package func cancel() { loop.cancel(id) }

    /// Changes the rates from any thread, in place of ``CurlRequest/receiveRateMax`` and
    /// ``CurlRequest/sendRateMax``; without effect once the transfer has ended.
    ///
    /// The new rates hold at once: a pause that was for an old rate is made longer or shorter. A
    /// transfer that began with HTTP/2 on offer is left alone where pausing it is not sound
    /// (``CurlLibrary/isHTTP2Sound``).
    ///
    /// - Parameters:
    ///   - receiveRate: the most body bytes to receive per second, above zero, or nil for any.
    ///   - sendRate: the most body bytes to send per second, above zero, or nil for any.
    package func limit(receiveRate: Int64?, sendRate: Int64?) {
        precondition(receiveRate ?? 1 > 0 && sendRate ?? 1 > 0, "a rate must be above zero")
        loop.limit(id, receiveRate: receiveRate, sendRate: sendRate)
    }

    /// Puts the transfer under `rates` from any thread, in place of its
    /// ``CurlRequest/sharedRates``, and looks at its pauses anew; otherwise as
    /// ``limit(receiveRate:sendRate:)``.
    package func share(_ rates: [SharedRate]) { loop.share(id, rates) }

    package static func == (left: CurlTransfer, right: CurlTransfer) -> Bool {
        left.id == right.id && left.loop === right.loop
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(loop))
        hasher.combine(id)
    }
}

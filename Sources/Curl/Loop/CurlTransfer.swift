/// The identity of one transfer of one loop.
package struct CurlTransfer: Sendable, Hashable {
    private let loop: CurlLoop
    let id: UInt64

    init(loop: CurlLoop, id: UInt64) {
        self.loop = loop
        self.id = id
    }

    /// Ends the transfer from any thread.
    ///
    /// The sink's `finish` follows with `cancelled`, unless the transfer has already ended; in
    /// either case it is called exactly once.
    package func cancel() { loop.cancel(id) }

    /// Asks again, from any thread, the sink and the source that have answered `later`.
    ///
    /// It has no effect on a transfer that waits for neither. With HTTP/2, a transfer may wait only
    /// where pausing it is sound (``CurlLibrary/isHTTP2Sound``).
    package func proceed() { loop.proceed(id) }

    /// Puts the transfer under `rates` from any thread.
    ///
    /// They replace its ``CurlRequest/sharedRates``; they have no effect once the transfer has
    /// ended. They hold at once: a pause computed for an old rate is made longer or shorter. A
    /// transfer that started with HTTP/2 on offer is left alone where pausing it is not sound
    /// (``CurlLibrary/isHTTP2Sound``).
    package func share(_ rates: [SharedRate]) { loop.share(id, rates) }

    package static func == (left: CurlTransfer, right: CurlTransfer) -> Bool {
        left.id == right.id && left.loop === right.loop
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(loop))
        hasher.combine(id)
    }
}

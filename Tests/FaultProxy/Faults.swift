/// What a proxy does to one connection; nothing by default.
package struct Faults: Sendable {
    /// What happens to the bytes of one direction.
    package struct Stream: Sendable {
        /// How much later each byte arrives than it was sent.
        package var delay: Duration = .zero
        /// Bytes per second, above zero, or nil for as many as there are.
        package var rate: Int64?
        /// The most bytes of one write, and so on loopback of one segment; nil for any.
        package var sliceBytesMax: Int?
        /// What happens after some bytes, or nil for nothing.
        package var end: End?

        /// A stream that passes unchanged.
        package init() {}
    }

    /// How a connection goes wrong after `bytes` of a stream were passed on.
    package enum End: Sendable {
        /// Both ends get a reset (RST), after the bytes.
        case reset(after: Int)
        /// The receiving end gets an orderly close (FIN) that the sending end never asked for.
        case close(after: Int)
        /// Nothing more of this stream arrives, while the connection stays open.
        case stall(after: Int)

        var byteCount: Int {
            switch self {
            case .reset(let count), .close(let count), .stall(let count): count
            }
        }
    }

    /// From the origin to the client.
    package var down = Stream()
    /// From the client to the origin.
    package var up = Stream()

    /// No faults.
    package init() {}

    /// A slow network: `delay` each way, and at most `rate` bytes per second each way.
    package static func slow(delay: Duration = .zero, rate: Int64? = nil) -> Faults {
        var faults = Faults()
        faults.down.delay = delay
        faults.down.rate = rate
        faults.up = faults.down
        return faults
    }

    /// A response that goes wrong.
    package static func down(_ end: End) -> Faults {
        var faults = Faults()
        faults.down.end = end
        return faults
    }

    /// A request that goes wrong.
    package static func up(_ end: End) -> Faults {
        var faults = Faults()
        faults.up.end = end
        return faults
    }
}

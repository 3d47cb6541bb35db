/// The faults of one connection; none by default.
package struct Faults: Sendable {
    /// The faults of one direction.
    package struct Stream: Sendable {
        /// The time by which each byte arrives later than it was sent.
        package var delay: Duration = .zero
        /// The bytes per second, above zero, or nil for no limit.
        package var rate: Int64?
        /// The most bytes of one write, and thus of one segment on loopback; nil for no limit.
        package var sliceBytesMax: Int?
        /// The fault after some bytes, or nil for none.
        package var end: End?

        /// Makes a stream that passes unchanged.
        package init() {}
    }

    /// The way in which a connection fails after `bytes` of a stream were passed on.
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

    /// The stream from the origin to the client.
    package var down = Stream()
    /// The stream from the client to the origin.
    package var up = Stream()

    /// Makes a connection without faults.
    package init() {}

    /// Returns a slow network: `delay` each way, and at most `rate` bytes per second each way.
    package static func slow(delay: Duration = .zero, rate: Int64? = nil) -> Faults {
        var faults = Faults()
        faults.down.delay = delay
        faults.down.rate = rate
        faults.up = faults.down
        return faults
    }

    /// Returns a response that fails.
    package static func down(_ end: End) -> Faults {
        var faults = Faults()
        faults.down.end = end
        return faults
    }

    /// Returns a request that fails.
    package static func up(_ end: End) -> Faults {
        var faults = Faults()
        faults.up.end = end
        return faults
    }
}

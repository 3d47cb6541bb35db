/// The number of connections that a server holds, and the times it waits for data on them.
package struct ConnectionBounds: Sendable {
    /// The default number of connections.
    package static let maxDefault = 4096
    /// The allowed numbers of connections.
    package static let maxRange = 64...65_536
    /// The default number of connections for the health routes.
    package static let reserveDefault = 64

    /// The maximum number of connections at once; each needs some 20 KiB.
    package var max: Int
    /// The maximum number of connections from one address, of any kind; for IPv6, from one 64-bit
    /// network.
    package var perAddressMax: Int
    /// The maximum number of connections on which no good key has arrived yet.
    package var withoutKeyMax: Int
    /// The maximum number of connections whose last good key belonged to one tenant.
    package var perTenantMax: Int
    /// The number of connections beyond all of these, for the health routes alone.
    package var reserve = reserveDefault
    /// The time from the accept, or from the first byte, to the end of a head.
    package var headTimeout: Duration = .seconds(10)
    /// The same time on a connection of the reserve.
    package var reserveHeadTimeout: Duration = .seconds(2)
    /// The time between two requests, which is longer than a client may ask an answer to wait.
    package var idleTimeout: Duration = .seconds(WaitPreference.secondsMax + 30)
    /// The minimum rate of a body, below which it is given up; time in which the server itself
    /// waits is not counted.
    package var bodyBytesPerSecondMin = 1024
    /// The time before the minimum rate applies.
    package var bodyGrace: Duration = .seconds(10)
    /// The time for a body that is held in memory.
    package var bodyTimeout: Duration = .seconds(60)
    /// The time for the client to take each piece of an answer, of ``PacedBodyWriter/pieceBytes``.
    package var writeTimeout: Duration = .seconds(60)
    /// The time for which the server still reads from a client that has been told that the
    /// connection ends.
    package var closeTimeout: Duration = .seconds(2)

    /// Creates the bounds.
    ///
    /// - Parameters:
    ///   - max: of all connections.
    ///   - perAddressMax: of one address; nil for three quarters of them, so that one peer leaves
    ///     room for the others.
    package init(max: Int = maxDefault, perAddressMax: Int? = nil) {
        self.max = max
        self.perAddressMax = perAddressMax ?? max * 3 / 4
        withoutKeyMax = max / 2
        perTenantMax = max / 2
    }

    /// Returns these bounds for at most `count` connections, of which one address has the same
    /// share.
    package func limited(to count: Int) -> ConnectionBounds {
        guard count < max else { return self }
        return ConnectionBounds(
            max: count,
            perAddressMax: Swift.max(1, perAddressMax * count / max)
        )
    }
}

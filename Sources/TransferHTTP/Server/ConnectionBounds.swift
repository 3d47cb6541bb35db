/// How many connections a server holds, and how long it waits for what should come on them.
package struct ConnectionBounds: Sendable {
    package static let maxDefault = 4096
    package static let maxRange = 64...65_536

    /// Connections at once; each needs some 20 KiB.
    package var max: Int
    /// Of one address, of whatever kind; of IPv6, one network of 64 bits.
    package var perAddressMax: Int
    /// On which no good key has come yet.
    package var withoutKeyMax: Int
    /// Whose last key was one tenant's.
    package var perTenantMax: Int
    /// Beyond all of these, for the health routes alone.
    package var reserve = 64
    /// From the accept, or the first byte, to the end of a head.
    package var headTimeout: Duration = .seconds(10)
    /// The same on a connection of the reserve.
    package var reserveHeadTimeout: Duration = .seconds(2)
    /// Between two requests; longer than a client may have its answer wait.
    package var idleTimeout: Duration = .seconds(WaitPreference.secondsMax + 30)
    /// A body that comes more slowly is given up; what the server itself waits for is not counted.
    package var bodyBytesPerSecondMin = 1024
    /// Before the rate counts.
    package var bodyGrace: Duration = .seconds(10)
    /// The time for a body that is held in memory.
    package var bodyTimeout: Duration = .seconds(60)
    /// The time for each piece of an answer to be taken, of ``PacedBodyWriter/pieceBytes``.
    package var writeTimeout: Duration = .seconds(60)
    /// How long a client is listened to that has been told that the connection ends.
    package var closeTimeout: Duration = .seconds(2)

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
}

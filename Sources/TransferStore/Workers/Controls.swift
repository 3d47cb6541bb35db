package import TransferModel

/// What a worker is to heed of what others have changed.
package struct Controls: Sendable {
    /// Its attempts that were taken away.
    package var revocations: [Fence] = []
    /// The limits of all of its attempts, if any limit has changed since the version it knew.
    package var limits: [Fence: RateLimits] = [:]
    /// How many attempts share the limits it asked about; without those that none does.
    package var sharers: [RateOwner: Sharers] = [:]

    package init() {}

    /// Running attempts that share a limit.
    package struct Sharers: Equatable, Sendable {
        /// Of the worker that asks.
        package var own: Int64
        /// Of all workers.
        package var all: Int64

        package init(own: Int64, all: Int64) {
            self.own = own
            self.all = all
        }
    }
}

package import TransferModel

/// The changes made by others that a worker must follow.
package struct Controls: Sendable {
    /// The fences of its attempts that were taken away.
    package var revocations: [Fence] = []
    /// The limits of all of its attempts, if any limit has changed since the version it knew.
    package var limits: [Fence: RateLimits] = [:]
    /// The number of attempts that share each limit it asked about; a limit without any is absent.
    package var sharers: [RateOwner: Sharers] = [:]

    /// The pauses by which attempts are given back that have no connection yet, or that run.
    package var pauses: [Pause] = []

    package init() {}

    /// The numbers of running attempts that share a limit.
    package struct Sharers: Equatable, Sendable {
        /// The number at the worker that asks.
        package var own: Int64
        /// The number at all workers.
        package var all: Int64

        package init(own: Int64, all: Int64) {
            self.own = own
            self.all = all
        }
    }
}

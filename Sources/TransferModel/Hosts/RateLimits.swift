/// The limits on the speed of a running attempt, one for each scope; nil for no limit.
package struct RateLimits: Equatable, Sendable {
    /// The bytes per second of the task alone.
    package var task: Int64?
    /// The bytes per second of all tasks of the session together.
    package var session: Int64?
    /// The bytes per second of all tasks of the tenant together.
    package var tenant: Int64?
    /// The number of changes of the limits; of two readings the later has the larger.
    package var version: Int64

    package init(
        task: Int64? = nil,
        session: Int64? = nil,
        tenant: Int64? = nil,
        version: Int64 = 0
    ) {
        self.task = task
        self.session = session
        self.tenant = tenant
        self.version = version
    }

    /// Whether the attempt has any limit.
    package var isLimited: Bool { task != nil || isShared }

    /// Whether the attempt shares a limit with others.
    package var isShared: Bool { session != nil || tenant != nil }
}

extension TaskClaim {
    /// Returns the owners with which the attempt shares `limits`, and the limit of each.
    package func shared(_ limits: RateLimits) -> [(owner: RateOwner, limit: Int64)] {
        var shared: [(owner: RateOwner, limit: Int64)] = []
        if let limit = limits.session { shared.append((.session(session), limit)) }
        if let limit = limits.tenant { shared.append((.tenant(tenant), limit)) }
        return shared
    }
}

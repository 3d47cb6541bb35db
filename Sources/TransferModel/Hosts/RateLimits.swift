/// How fast a running attempt may be, by whom that is said; nil for any.
package struct RateLimits: Equatable, Sendable {
    /// Bytes in a second of the task alone.
    package var task: Int64?
    /// Bytes in a second of all tasks of the session together.
    package var session: Int64?
    /// Bytes in a second of all tasks of the tenant together.
    package var tenant: Int64?
    /// Counts the changes of limits; of two readings the later has the larger.
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

    /// Whether anything is limited.
    package var isLimited: Bool { task != nil || isShared }

    /// Whether the attempt has a limit together with others.
    package var isShared: Bool { session != nil || tenant != nil }
}

extension TaskClaim {
    /// With whom the attempt shares `limits`, and how much.
    package func shared(_ limits: RateLimits) -> [(owner: RateOwner, limit: Int64)] {
        var shared: [(owner: RateOwner, limit: Int64)] = []
        if let limit = limits.session { shared.append((.session(session), limit)) }
        if let limit = limits.tenant { shared.append((.tenant(tenant), limit)) }
        return shared
    }
}

/// What stands between a queued task and its start.
package struct QueueWait: Equatable, Sendable {
    /// The host and port; nil for a host that no worker has met.
    package let host: String?
    /// The reason for which the host is closed; nil while it is open.
    package let closure: String?
    /// The connections that the host may have now; nil for the default of the workers.
    package let connectionsOfHost: Int?
    /// The running tasks at the host.
    package let runningAtHost: Int
    /// The connections that the session may have to one host; nil for as many as the host may have.
    package let connectionsOfSession: Int?
    /// The running tasks of the session at the host.
    package let runningOfSession: Int
    package let isDiscretionary: Bool
    /// Whether a worker is alive.
    package let hasWorker: Bool
    /// The pause that keeps the task from starting; nil if there is none.
    package let pause: Pause?
    /// The limit of the tenant that lets nothing begin now; nil for none.
    package let tenantLimit: TenantLimit?

    /// A limit that an operator sets for a tenant, and that tasks wait for.
    package enum TenantLimit: String, CaseIterable, Sendable {
        /// The tasks that run at once.
        case runningTasks = "running_tasks"
        /// The bytes that running tasks have to move.
        case inFlightBytes = "in_flight_bytes"
        /// The bytes that are kept; until some expire or are removed.
        case storedBytes = "stored_bytes"
    }

    /// The part of the service, or the setting, for which a task waits.
    package enum Cause: String, CaseIterable, Sendable {
        /// The tenant, the host or everything is paused.
        case paused
        /// No worker is alive.
        case worker
        /// The tenant keeps as many bytes as it may.
        case storedBytes = "stored_bytes"
        /// The running tasks of the tenant have as many bytes to move as they may.
        case inFlightBytes = "in_flight_bytes"
        /// The tenant has as many running tasks as it may.
        case runningTasks = "running_tasks"
        /// The host does not serve, and is only probed.
        case closedHost = "closed_host"
        /// The session has as many connections to the host as it may.
        case session
        /// The host has as many connections as it may.
        case host
        /// The session's tasks wait until there is nothing else to do.
        case discretionary
        /// The worker's slots, or the tenant's share of them, are taken.
        case slot
    }

    package init(
        host: String?,
        closure: String?,
        connectionsOfHost: Int?,
        runningAtHost: Int,
        connectionsOfSession: Int?,
        runningOfSession: Int,
        isDiscretionary: Bool,
        hasWorker: Bool,
        pause: Pause? = nil,
        tenantLimit: TenantLimit? = nil
    ) {
        self.host = host
        self.closure = closure
        self.connectionsOfHost = connectionsOfHost
        self.runningAtHost = runningAtHost
        self.connectionsOfSession = connectionsOfSession
        self.runningOfSession = runningOfSession
        self.isDiscretionary = isDiscretionary
        self.hasWorker = hasWorker
        self.pause = pause
        self.tenantLimit = tenantLimit
    }

    /// Returns the cause that lasts longest, where a host may have `connectionsDefault`
    /// connections unless something else is known of it.
    package func cause(connectionsDefault: Int) -> Cause {
        if pause != nil { return .paused }
        if !hasWorker { return .worker }
        switch tenantLimit {
        case .storedBytes: return .storedBytes
        case .inFlightBytes: return .inFlightBytes
        case .runningTasks: return .runningTasks
        case nil: break
        }
        if closure != nil { return .closedHost }
        if let connectionsOfSession, runningOfSession >= connectionsOfSession { return .session }
        if runningAtHost >= connectionsOfHost ?? connectionsDefault { return .host }
        return isDiscretionary ? .discretionary : .slot
    }
}

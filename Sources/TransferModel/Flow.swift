/// The queue of one session at one host: its tasks there run in the order of their priority and age.
package struct Flow: Hashable, Sendable {
    package let lane: Lane
    package let session: SessionID

    package init(lane: Lane, session: SessionID) {
        self.lane = lane
        self.session = session
    }
}

/// A flow in which tasks wait.
package struct WaitingFlow: Sendable {
    package let flow: Flow
    package let tenant: TenantID
    /// Of the first task in it.
    package let priority: TaskPriority
    /// Connections that the session may have to one host; nil for as many as the host allows.
    package let maxConnectionsPerHost: Int?
    /// Tasks of the tenant that may be running, at all hosts; nil for any number.
    package let tenantTasksMax: Int?
    /// Whether it waits until there is nothing else to do.
    package let isDiscretionary: Bool

    package init(
        flow: Flow,
        tenant: TenantID,
        priority: TaskPriority = .default,
        maxConnectionsPerHost: Int? = nil,
        tenantTasksMax: Int? = nil,
        isDiscretionary: Bool = false
    ) {
        self.flow = flow
        self.tenant = tenant
        self.priority = priority
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.tenantTasksMax = tenantTasksMax
        self.isDiscretionary = isDiscretionary
    }
}

/// How many tasks of a flow may be claimed.
package struct FlowGrant: Equatable, Sendable {
    package let flow: Flow
    package let count: Int

    package init(flow: Flow, count: Int) {
        self.flow = flow
        self.count = count
    }
}

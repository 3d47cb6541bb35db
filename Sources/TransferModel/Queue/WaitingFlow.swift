/// A flow with waiting tasks.
package struct WaitingFlow: Sendable {
    package let flow: Flow
    package let tenant: TenantID
    /// The position of the flow's first task.
    package let position: FlowPosition
    /// The connections that the session may have to one host; nil for as many as the host allows.
    package let maxConnectionsPerHost: Int?
    /// The tasks of the tenant that may run at once over all hosts; nil for any number.
    package let tenantTasksMax: Int?
    /// Whether the bytes that the tenant keeps or has under way are limited.
    package let hasTenantByteLimit: Bool
    /// Whether the flow waits until there is nothing else to do.
    package let isDiscretionary: Bool
    /// Whether the session may start tasks: it has not ended, and its client was not force-quit.
    package let mayBegin: Bool

    package init(
        flow: Flow,
        tenant: TenantID,
        position: FlowPosition,
        maxConnectionsPerHost: Int? = nil,
        tenantTasksMax: Int? = nil,
        hasTenantByteLimit: Bool = false,
        isDiscretionary: Bool = false,
        mayBegin: Bool = true
    ) {
        self.flow = flow
        self.tenant = tenant
        self.position = position
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.tenantTasksMax = tenantTasksMax
        self.hasTenantByteLimit = hasTenantByteLimit
        self.isDiscretionary = isDiscretionary
        self.mayBegin = mayBegin
    }
}

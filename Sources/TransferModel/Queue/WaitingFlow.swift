/// A flow in which tasks wait.
package struct WaitingFlow: Sendable {
    package let flow: Flow
    package let tenant: TenantID
    /// Where its first task is.
    package let position: FlowPosition
    /// Connections that the session may have to one host; nil for as many as the host allows.
    package let maxConnectionsPerHost: Int?
    /// Tasks of the tenant that may be running, at all hosts; nil for any number.
    package let tenantTasksMax: Int?
    /// Whether it waits until there is nothing else to do.
    package let isDiscretionary: Bool
    /// Whether its session takes part: it has not ended, and its client was not force-quit.
    package let mayBegin: Bool

    package init(
        flow: Flow,
        tenant: TenantID,
        position: FlowPosition,
        maxConnectionsPerHost: Int? = nil,
        tenantTasksMax: Int? = nil,
        isDiscretionary: Bool = false,
        mayBegin: Bool = true
    ) {
        self.flow = flow
        self.tenant = tenant
        self.position = position
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.tenantTasksMax = tenantTasksMax
        self.isDiscretionary = isDiscretionary
        self.mayBegin = mayBegin
    }
}

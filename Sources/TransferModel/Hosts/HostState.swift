/// The stored state of a host that a worker starts to look after.
package struct HostState: Equatable, Sendable {
    /// The bound that an operator set; nil for as many connections as any host may have.
    package let maxConnections: Int?
    /// The connections that the host's previous owner gave it; nil for all that it may have.
    package let connections: Int?

    package init(maxConnections: Int?, connections: Int?) {
        self.maxConnections = maxConnections
        self.connections = connections
    }
}

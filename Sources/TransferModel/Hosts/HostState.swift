/// What is stored of a host that a worker begins to look after.
package struct HostState: Equatable, Sendable {
    /// Set by an operator.
    package let maxConnections: Int?
    /// Given by whoever looked after it before.
    package let connections: Int?

    package init(maxConnections: Int?, connections: Int?) {
        self.maxConnections = maxConnections
        self.connections = connections
    }
}

/// How many tasks of a flow may be claimed.
package struct FlowGrant: Equatable, Sendable {
    package let flow: Flow
    package let count: Int
    /// Before it nothing is to be expected, only what was there once.
    package let from: FlowPosition

    package init(flow: Flow, count: Int, from: FlowPosition) {
        self.flow = flow
        self.count = count
        self.from = from
    }
}

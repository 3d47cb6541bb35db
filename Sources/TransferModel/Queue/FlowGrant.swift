/// The number of tasks of a flow that may be claimed.
package struct FlowGrant: Equatable, Sendable {
    package let flow: Flow
    /// The number of tasks.
    package let count: Int
    /// The position before which no task is expected, only tasks that were there once.
    package let from: FlowPosition

    package init(flow: Flow, count: Int, from: FlowPosition) {
        self.flow = flow
        self.count = count
        self.from = from
    }
}

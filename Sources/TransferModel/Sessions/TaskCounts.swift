/// The numbers of a session's or a tenant's stored tasks in each state, and the bytes that the
/// ended ones moved.
///
/// Ended tasks are stored for as long as their session says.
package struct TaskCounts: Equatable, Sendable {
    private var tasks: [TransferState: Int64]
    /// The bytes that ended tasks received.
    package let bytesReceived: Int64
    /// The bytes that ended tasks sent.
    package let bytesSent: Int64

    package init(
        _ tasks: [TransferState: Int64] = [:],
        bytesReceived: Int64 = 0,
        bytesSent: Int64 = 0
    ) {
        // A state without tasks is the same as an absent one.
        self.tasks = tasks.filter { $0.value != 0 }
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
    }

    /// The number of tasks in `state`.
    package subscript(state: TransferState) -> Int64 { tasks[state, default: 0] }

    /// The number of tasks that have not ended.
    package var outstanding: Int64 {
        tasks.reduce(0) { $0 + ($1.key.isTerminal ? 0 : $1.value) }
    }
}

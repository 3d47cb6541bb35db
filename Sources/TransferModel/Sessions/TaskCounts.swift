/// How many tasks of a session or a tenant are in which state, and what those that have ended have
/// moved; of tasks that are kept, which ended ones are for as long as their session says.
package struct TaskCounts: Equatable, Sendable {
    private var tasks: [TransferState: Int64]
    /// Of tasks that have ended, in bytes.
    package let bytesReceived: Int64
    package let bytesSent: Int64

    package init(
        _ tasks: [TransferState: Int64] = [:],
        bytesReceived: Int64 = 0,
        bytesSent: Int64 = 0
    ) {
        // What is not there and what is there no more are the same.
        self.tasks = tasks.filter { $0.value != 0 }
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
    }

    package subscript(state: TransferState) -> Int64 { tasks[state, default: 0] }

    /// Tasks that have not ended.
    package var outstanding: Int64 {
        tasks.reduce(0) { $0 + ($1.key.isTerminal ? 0 : $1.value) }
    }
}

/// The progress of a session's current generation.
package struct SessionProgress: Equatable, Sendable {
    /// The generation, which counts up when the first task arrives in a drained session; 0 before.
    package var generation: Int64
    /// The number of the generation's tasks that are not terminal.
    package var outstanding: Int64
    /// The number of the generation's tasks that completed.
    package var completed: Int64
    /// The number of the generation's tasks that failed.
    package var failed: Int64
    /// The number of the generation's tasks that were cancelled.
    package var cancelled: Int64
    /// The number of the session's newest event; 0 before the first.
    package var lastSequence: Int64

    package init(
        generation: Int64 = 0,
        outstanding: Int64 = 0,
        completed: Int64 = 0,
        failed: Int64 = 0,
        cancelled: Int64 = 0,
        lastSequence: Int64 = 0
    ) {
        self.generation = generation
        self.outstanding = outstanding
        self.completed = completed
        self.failed = failed
        self.cancelled = cancelled
        self.lastSequence = lastSequence
    }
}

package import Foundation

/// The measurements of a task: `URLSessionTaskMetrics`.
package struct TaskMetrics: Sendable {
    package let createdAt: Date
    /// The start of the first attempt; nil before that.
    package let beganAt: Date?
    /// The end of the task; nil before that.
    package let finishedAt: Date?
    /// The newest attempts that have ended, in the order in which they started.
    package let attempts: [AttemptRecord]

    package init(
        createdAt: Date,
        beganAt: Date?,
        finishedAt: Date?,
        attempts: [AttemptRecord]
    ) {
        self.createdAt = createdAt
        self.beganAt = beganAt
        self.finishedAt = finishedAt
        self.attempts = attempts
    }
}

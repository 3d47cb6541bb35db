package import Foundation

/// What was measured of a task: `URLSessionTaskMetrics`.
package struct TaskMetrics: Sendable {
    package let createdAt: Date
    /// When its first attempt began; nil before that.
    package let beganAt: Date?
    /// Nil while it has not ended.
    package let finishedAt: Date?
    /// The newest attempts that have ended, in the order in which they began.
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

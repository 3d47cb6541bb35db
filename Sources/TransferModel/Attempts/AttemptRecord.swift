package import Foundation

/// An attempt of a task that has ended, as it is kept.
package struct AttemptRecord: Sendable {
    /// How the attempt ended, which is not always how its task did.
    package enum Outcome: String, CaseIterable, Sendable {
        /// Its file is the result.
        case completed
        /// It was the last one.
        case failed
        /// Another one follows after a wait.
        case retried
        /// Given back by a worker that stopped; does not count.
        case released
        /// Its worker died.
        case lost
        /// Stopped because the task was suspended; does not count.
        case suspended
        /// Stopped because the task was cancelled.
        case cancelled
    }

    /// Which attempt of the task, from 1; those that do not count share a number with the next.
    package let number: Int
    package let outcome: Outcome
    package let startedAt: Date
    package let endedAt: Date
    /// Bytes that this attempt received.
    package let bytesReceived: Int64
    /// Bytes of an upload that this attempt sent.
    package let bytesSent: Int64
    /// Bytes that were there before, when the origin sent only the rest.
    package let resumedAtOffset: Int64?
    package let httpStatus: Int?
    package let failure: TransferFailure?
    /// Nil when the worker that knew is gone.
    package let metrics: AttemptMetrics?

    package init(
        number: Int,
        outcome: Outcome,
        startedAt: Date,
        endedAt: Date,
        bytesReceived: Int64,
        bytesSent: Int64,
        resumedAtOffset: Int64?,
        httpStatus: Int?,
        failure: TransferFailure?,
        metrics: AttemptMetrics?
    ) {
        self.number = number
        self.outcome = outcome
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.resumedAtOffset = resumedAtOffset
        self.httpStatus = httpStatus
        self.failure = failure
        self.metrics = metrics
    }
}

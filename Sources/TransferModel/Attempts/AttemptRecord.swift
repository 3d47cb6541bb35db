package import Foundation

/// The stored record of an attempt that has ended.
package struct AttemptRecord: Sendable {
    /// The end of an attempt, which is not always that of its task.
    package enum Outcome: String, CaseIterable, Sendable {
        /// The attempt's file is the result.
        case completed
        /// The attempt was the last one.
        case failed
        /// Another attempt follows after a wait.
        case retried
        /// The attempt was given back by a worker that stopped; it does not count.
        case released
        /// The attempt's worker died.
        case lost
        /// The attempt was stopped because the task was suspended; it does not count.
        case suspended
        /// The attempt was stopped because the task was cancelled.
        case cancelled
    }

    /// The attempt's number, from 1; attempts that do not count share it with the next.
    package let number: Int
    package let outcome: Outcome
    package let startedAt: Date
    package let endedAt: Date
    /// The bytes that this attempt received.
    package let bytesReceived: Int64
    /// The bytes of an upload that this attempt sent.
    package let bytesSent: Int64
    /// The bytes that were present before, when the origin sent only the rest.
    package let resumedAtOffset: Int64?
    package let httpStatus: Int?
    package let failure: TransferFailure?
    /// The attempt's measurements; nil when the worker that knew them is gone.
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

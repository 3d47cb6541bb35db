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

/// What was measured of the last request of an attempt: `URLSessionTaskTransactionMetrics`.
///
/// Times count from the start of that request; zero for what was not reached.
package struct AttemptMetrics: Equatable, Sendable {
    /// Redirects that were followed before it.
    package var redirects = 0
    /// When it started, counted from the begin of the attempt.
    package var fetchStart: Duration = .zero
    /// The most connections that the attempt had at once.
    package var connections = 1
    /// The name was resolved.
    package var nameLookup: Duration = .zero
    /// The connection was made; zero on a kept connection.
    package var connect: Duration = .zero
    /// TLS was agreed on; zero without TLS or on a kept connection.
    package var tls: Duration = .zero
    /// The connection was ready, and the request began to be sent.
    package var requestStart: Duration = .zero
    /// The last byte of the request was given to the kernel.
    package var requestEnd: Duration = .zero
    /// The first byte of the response came.
    package var firstByte: Duration = .zero
    /// The request ended.
    package var total: Duration = .zero
    package var isConnectionReused = false
    /// For example `1.1`; nil without a response.
    package var httpVersion: String?
    /// The origin's IP address; nil without a connection, as those below.
    package var remoteAddress: String?
    package var remotePort: Int?
    package var localAddress: String?
    package var localPort: Int?
    /// Bytes of the request's line and header fields; 0 where libcurl does not count them.
    package var requestHeaderBytes: Int64 = 0
    package var requestBodyBytes: Int64 = 0
    /// Bytes of all heads and trailers of the response.
    package var responseHeaderBytes: Int64 = 0
    package var responseBodyBytes: Int64 = 0
    /// The status of the last response; nil without one.
    package var httpStatus: Int?

    package init() {}
}

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

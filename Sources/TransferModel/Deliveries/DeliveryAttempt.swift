package import Foundation

/// One try to deliver a message, as it is logged.
package struct DeliveryAttempt: Equatable, Sendable {
    /// The longest begin of an answer that is kept, in bytes as they came.
    package static let answerBytesMax = 1024

    package let at: Date
    package let duration: Duration
    /// Of the answer, when there was one.
    package let status: Int?
    /// A stable word for why the message was not taken; nil when it was.
    package let reason: String?
    /// The begin of the answer's body; nil when that is empty.
    package let answer: String?
    /// Whether it was asked for, rather than made by the schedule.
    package let isReplay: Bool

    package init(
        at: Date,
        duration: Duration,
        status: Int?,
        reason: String?,
        answer: String?,
        isReplay: Bool
    ) {
        self.at = at
        self.duration = duration
        self.status = status
        self.reason = reason
        self.answer = answer
        self.isReplay = isReplay
    }
}

package import Foundation

/// A logged try to deliver a message.
package struct DeliveryAttempt: Equatable, Sendable {
    /// The most bytes of an answer's start that are kept, as they came.
    package static let answerBytesMax = 1024

    /// The time at which the try started.
    package let at: Date
    /// The time that the try took.
    package let duration: Duration
    /// The status of the answer; nil without one.
    package let status: Int?
    /// A stable word for the reason why the message was not taken; nil when it was.
    package let reason: String?
    /// The start of the answer's body; nil when the body is empty.
    package let answer: String?
    /// Whether the try was requested, rather than made by the schedule.
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

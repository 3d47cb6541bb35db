import Foundation
import TransferModel

/// One try to send a message, with its outcome.
struct SentMessage: Sendable {
    let at: Date
    let duration: Duration
    let outcome: DeliveryOutcome
    /// The start of the answer's body.
    let answer: String?

    /// A try that failed before a byte was sent.
    static var notSent: SentMessage {
        SentMessage(
            at: Date(),
            duration: .zero,
            outcome: .failed(DeliveryFailure(reason: DeliveryFailure.serviceReason)),
            answer: nil
        )
    }

    /// Returns the try as it is logged; `failure` replaces its own when another rule failed the
    /// message.
    func attempt(as failure: DeliveryFailure? = nil, isReplay: Bool = false) -> DeliveryAttempt {
        let (status, reason): (Int?, String?) =
            switch outcome {
            case .delivered(let status): (status, nil)
            case .failed(let own): ((failure ?? own).status, (failure ?? own).reason)
            case .abandoned: (nil, DeliveryFailure.serviceReason)
            }
        return DeliveryAttempt(
            at: at,
            duration: duration,
            status: status,
            reason: reason,
            answer: answer,
            isReplay: isReplay
        )
    }
}

import Foundation
import TransferModel

/// One try, as it went.
struct SentMessage: Sendable {
    let at: Date
    let duration: Duration
    let outcome: DeliveryOutcome
    /// The begin of the answer's body.
    let answer: String?

    /// A try that came to nothing before a byte was sent.
    static var notSent: SentMessage {
        SentMessage(
            at: Date(),
            duration: .zero,
            outcome: .failed(DeliveryFailure(reason: DeliveryFailure.serviceReason)),
            answer: nil
        )
    }

    /// As it is logged; `failure` in place of its own, when the message failed by another rule.
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

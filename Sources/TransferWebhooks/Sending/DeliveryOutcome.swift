import Curl
import Foundation
import TransferModel

/// The outcome of one try to deliver a message.
enum DeliveryOutcome: Equatable, Sendable {
    /// The receiver answered with 2xx.
    case delivered(status: Int)
    /// The receiver has not taken the message, which is retried.
    case failed(DeliveryFailure)
    /// We gave the try up ourselves, as when stopping, which says nothing about the receiver.
    case abandoned

    /// Creates the outcome of an answer: 2xx is success, everything else failure.
    ///
    /// A redirect is a failure too, because following it would send the message to an unchecked
    /// place.
    init(_ head: ResponseHead, now: Date) {
        guard !(200...299).contains(head.status) else {
            self = .delivered(status: head.status)
            return
        }
        self = .failed(
            DeliveryFailure(
                status: head.status,
                reason: "http_status",
                retryAfter: RetryAfter.wait(
                    head["Retry-After"],
                    date: head["Date"],
                    now: now
                )
            )
        )
    }

    /// Creates the outcome of a try without an answer.
    init(_ error: CurlError) {
        switch error.code {
        case .cancelled: self = .abandoned
        case .tooManyTransfers, .outOfDescriptors, .outOfMemory:
            self = .failed(DeliveryFailure(reason: Self.reason(error.code), isTry: false))
        default: self = .failed(DeliveryFailure(reason: Self.reason(error.code)))
        }
    }

    /// Whether this counts as a try of the message.
    var isTry: Bool {
        switch self {
        case .delivered: true
        case .failed(let failure): failure.isTry
        case .abandoned: false
        }
    }

    /// Returns a stable word for a cause, the same as in the failures of tasks where there is one.
    private static func reason(_ code: CurlError.Code) -> String {
        switch code {
        case .unsupportedURL: "unsupported_url"
        case .couldNotResolve: "could_not_resolve_host"
        case .couldNotConnect: "could_not_connect"
        case .proxyRefused: "proxy_refused"
        case .tlsFailure, .tlsDisagreement, .tlsHandshake: "tls_failure"
        case .timedOut: "timed_out"
        case .connectionLost, .requestRefused, .truncated: "connection_lost"
        case .badResponse, .bodyTooLarge: "bad_response"
        case .egressDenied: "egress_denied"
        // No receiver can help it that the proxy is away.
        case .proxyUnreachable, .proxyCredentialRefused, .authoritiesUnusable,
            .clientCertificateUnusable, .invalidRequest, .bodySourceFailed, .aborted, .cancelled,
            .tooManyTransfers, .outOfMemory, .outOfDescriptors, .other:
            DeliveryFailure.serviceReason
        }
    }
}

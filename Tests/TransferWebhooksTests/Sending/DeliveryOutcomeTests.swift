import Curl
import Foundation
import Testing

@testable import TransferWebhooks

@Suite struct DeliveryOutcomeTests {
    private let now = Date(timeIntervalSince1970: 784_111_777)

    private func outcome(
        _ status: Int,
        retryAfter: String? = nil,
        date: String? = nil
    ) -> DeliveryOutcome {
        let headers = [("retry-after", retryAfter), ("date", date)]
            .compactMap { name, value in value.map { (name, $0) } }
        return DeliveryOutcome(ResponseHead(status: status, headers: headers), now: now)
    }

    @Test(arguments: [200, 201, 202, 204, 299])
    func takesEverySuccessAsDelivered(status: Int) {
        #expect(outcome(status) == .delivered(status: status))
    }

    @Test(arguments: [
        300, 301, 302, 303, 304, 307, 308, 400, 404, 410, 429, 500, 502, 503, 504, 999,
    ])
    func takesEveryOtherStatusAsFailure(status: Int) {
        #expect(
            outcome(status) == .failed(DeliveryFailure(status: status, reason: "http_status"))
        )
    }

    @Test(arguments: [
        ("120", 120), ("0", 0), (" 7 ", 7), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
        ("Sunday, 06-Nov-94 08:49:47 GMT", 10), ("Sun Nov  6 08:49:47 1994", 10),
        ("99999999999999999999999", 3_162_240_000),
    ])
    func readsRetryAfter(value: String, seconds: Int) {
        let expected = DeliveryFailure(
            status: 503,
            reason: "http_status",
            retryAfter: .seconds(seconds)
        )
        #expect(outcome(503, retryAfter: value) == .failed(expected))
    }

    @Test func aDateInRetryAfterIsByTheClockOfTheReceiver() {
        let expected = DeliveryFailure(
            status: 503,
            reason: "http_status",
            retryAfter: .seconds(5)
        )
        let answered = outcome(
            503,
            retryAfter: "Sun, 06 Nov 1994 06:49:42 GMT",
            date: "Sun, 06 Nov 1994 06:49:37 GMT"
        )
        #expect(answered == .failed(expected))
    }

    @Test(arguments: [
        "", "soon", "-1", "1.5", "1e9", "0x10", "Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 99 Nov 1994",
        "Sun, 06 Foo 1994 08:49:47 GMT", "Sun, 06 Nov 1994 25:00:00 GMT",
        String(repeating: "9", count: 65), "\u{0}",
    ])
    func ignoresRetryAfterThatMakesNoSense(value: String) {
        #expect(
            outcome(503, retryAfter: value)
                == .failed(DeliveryFailure(status: 503, reason: "http_status"))
        )
    }

    @Test(
        arguments: [
            (.unsupportedURL, "unsupported_url"), (.couldNotResolve, "could_not_resolve_host"),
            (.couldNotConnect, "could_not_connect"), (.tlsFailure, "tls_failure"),
            (.tlsHandshake, "tls_failure"), (.tlsDisagreement, "tls_failure"),
            (.timedOut(.total), "timed_out"),
            (.timedOut(.connect), "timed_out"), (.connectionLost, "connection_lost"),
            (.truncated, "connection_lost"), (.badResponse, "bad_response"),
            (.egressDenied, "egress_denied"), (.proxyRefused, "proxy_refused"),
            (.proxyUnreachable, "service"), (.proxyCredentialRefused, "service"),
            (.clientCertificateUnusable, "service"), (.authoritiesUnusable, "service"),
            (.other, "service"),
        ] as [(CurlError.Code, String)]
    )
    func namesTheCauseOfATryWithoutAnswer(code: CurlError.Code, reason: String) {
        #expect(DeliveryOutcome(CurlError(code)) == .failed(DeliveryFailure(reason: reason)))
    }

    @Test(arguments: [CurlError.Code.tooManyTransfers, .outOfDescriptors, .outOfMemory])
    func countsNoTryWhileTheServiceLacksSomething(code: CurlError.Code) {
        let outcome = DeliveryOutcome(CurlError(code))
        #expect(outcome == .failed(DeliveryFailure(reason: "service", isTry: false)))
        #expect(!outcome.isTry)
        #expect(DeliveryOutcome(CurlError(.other)).isTry)
    }

    @Test func blamesNobodyForWhatWeGaveUp() {
        #expect(DeliveryOutcome(CurlError(.cancelled)) == .abandoned)
    }
}

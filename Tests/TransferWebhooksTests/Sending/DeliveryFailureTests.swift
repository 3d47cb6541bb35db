import Testing

@testable import TransferWebhooks

@Suite struct DeliveryFailureTests {
    /// Only whoever is away ends a recovery.
    @Test(
        arguments: [
            ("could_not_connect", nil, true), ("timed_out", nil, true),
            ("bad_response", nil, true), ("connection_lost", nil, false),
            ("http_status", 500, false),
        ] as [(String, Int?, Bool)]
    )
    func whoBreaksAnAnswerOffIsThere(reason: String, status: Int?, isAway: Bool) {
        let failure = DeliveryFailure(status: status, reason: reason)
        #expect(failure.isOfWhoIsAway == isAway)
    }
}

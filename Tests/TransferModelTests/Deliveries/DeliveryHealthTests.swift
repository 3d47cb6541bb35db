import Testing
import TransferModel

@Suite struct DeliveryHealthTests {
    @Test(arguments: [429, 502, 503, 504])
    func sparesAReceiverThatHasTooMuchToDo(status: Int) {
        let health = DeliveryHealth()
        #expect(health.throttle(status: status, retryAfter: nil) == .seconds(5))
        #expect(health.throttle(status: status, retryAfter: .seconds(90)) == .seconds(90))
        #expect(health.throttle(status: status, retryAfter: .seconds(86_400)) == .seconds(3600))
        #expect(health.throttle(status: status, retryAfter: .zero) == .zero)
    }

    @Test(arguments: [nil, 301, 400, 404, 410, 500, 501])
    func sparesNoOther(status: Int?) {
        #expect(DeliveryHealth().throttle(status: status, retryAfter: .seconds(90)) == nil)
    }
}

import NIOCore
import Testing

@testable import TransferHTTP

@Suite struct WrongKeyThrottleTests {
    /// The limit on all addresses still holds.
    @Test func addressesAreForgottenWhenThereAreTooMany() throws {
        let throttle = WrongKeyThrottle()
        let now = ContinuousClock.now
        func lookUp(from host: String, isWrong: Bool) throws -> WrongKeyThrottle.Admission {
            let address = PeerAddress(try SocketAddress(ipAddress: host, port: 1))
            let admission = throttle.takeLookUp(for: address, at: now)
            if admission == .taken { throttle.endLookUp(for: address, isWrong: isWrong) }
            return admission
        }
        for _ in 0..<WrongKeyThrottle.burst {
            #expect(try lookUp(from: "192.0.2.1", isWrong: true) == .taken)
        }
        #expect(try lookUp(from: "192.0.2.1", isWrong: true) == .usedUp)
        for host in 0..<4096 {
            let admission = try lookUp(from: "10.0.\(host / 256).\(host % 256)", isWrong: false)
            #expect(admission == .taken)
        }
        #expect(try lookUp(from: "192.0.2.1", isWrong: true) == .taken)
    }
}

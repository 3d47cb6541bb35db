import Testing
import TransferWire

@testable import TransferClient

@Suite struct RetryPolicyTests {
    private static func error(
        _ code: ProblemDetails.Code,
        status: Int? = nil
    ) -> TransferError {
        var error = TransferError(ProblemDetails(code, detail: nil, requestID: "r"))
        error.status = status ?? code.status
        return error
    }

    /// A response that is not the service's.
    private static func status(_ status: Int, retryAfter: Int? = nil) -> TransferError {
        var error = TransferError(.unexpectedResponse, "")
        error.status = status
        error.retryAfter = retryAfter.map { .seconds($0) }
        return error
    }

    @Test(arguments: [
        (TransferError(TransportFailure(.notConnected, "")), true, true),
        (TransferError(TransportFailure(.broken, "")), true, false),
        (TransferError(TransportFailure(.timedOut, "")), true, false),
        (TransferError(TransportFailure(.cancelled, "")), false, false),
        (TransferError(TransportFailure(.unreadable, "")), false, false),
        (error(.unavailable), true, false), (error(.queueFull), true, false),
        (status(502), true, false), (status(504), true, false), (status(500), true, false),
        (status(408), true, false), (status(429), true, false), (status(520), true, false),
        (status(404), false, false), (status(501), false, false), (status(507), false, false),
        (status(403, retryAfter: 1), true, false),
        (error(.tooManyRequests), true, true), (error(.idempotencyKeyInUse), true, true),
        (error(.bodyInUse), true, true), (error(.bodyNotExpected), false, false),
        (error(.quotaExceeded), false, false), (error(.validationFailed), false, false),
        (error(.unknownSession), false, false), (error(.internalError), true, false),
        (error(.storageFull), false, false),
    ])
    func repeatsWhatIsSafeAndMayHelp(
        _ error: TransferError,
        _ whenRepeatable: Bool,
        _ otherwise: Bool
    ) {
        #expect(RetryPolicy.isCurable(error, isRepeatable: true) == whenRepeatable)
        #expect(RetryPolicy.isCurable(error, isRepeatable: false) == otherwise)
    }

    @Test func waitsLongerAfterEachFailureUpToTheBound() {
        let policy = RetryPolicy(
            attemptsMax: 9,
            delayBase: .seconds(1),
            delayMax: .seconds(5)
        )
        let error = TransferError(TransportFailure(.broken, ""))
        let delays = (1...9).map {
            policy.delay(after: error, attempts: $0, isRepeatable: true, fraction: 1)
        }
        #expect(delays.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(5)])
        #expect(delays.last == .some(nil))
        let least = policy.delay(after: error, attempts: 2, isRepeatable: true, fraction: 0)
        #expect(least == .seconds(1))
        // A service may ask for a base that cannot be multiplied.
        let endless = RetryPolicy(delayBase: .milliseconds(Int64.max), delayMax: .seconds(5))
        #expect(endless.growing(attempts: 30, fraction: 1) == .seconds(5))
    }

    @Test func waitsAsLongAsTheServiceAsksUpToTheBound() {
        let policy = RetryPolicy(delayMax: .seconds(10))
        for (asked, expected) in [(3, 3), (60, 10)] {
            var error = Self.error(.unavailable)
            error.retryAfter = .seconds(asked)
            let delay = policy.delay(after: error, attempts: 1, isRepeatable: true, fraction: 0)
            #expect(delay == .seconds(expected))
        }
    }
}

import Curl
import Foundation
import Synchronization
import Testing
import TransferModel

@testable import TransferEngine

/// The reports of attempts on whether their hosts can be reached.
@Suite struct ReachabilityTests {
    private static let failure = TransferFailure(.couldNotConnect, "Refused.")
    private let changes = Told()

    /// The sentences about hosts.
    private final class Told: Sendable {
        let reasons = Mutex<[String]>([])
    }

    private func reachability() -> Reachability {
        var settings = HostConnectivity.Settings()
        settings.failuresMin = 2
        settings.silenceMin = .zero
        return Reachability(settings) { [changes] _, change in
            switch change {
            case .closed(let reason), .opened(let reason):
                changes.reasons.withLock { $0.append(String(reason.prefix(6))) }
            }
        }
    }

    private func claim(
        _ fence: Int64,
        _ options: TransferOptions = TransferOptions(),
        elapsed: Duration = .zero
    ) -> TaskClaim {
        TaskClaim(
            task: TaskID(UUID()),
            fence: Fence(rawValue: fence),
            tenant: TenantID(UUID()),
            session: SessionID(UUID()),
            hostKey: HostKey(rawValue: 1),
            number: 1,
            url: "http://a.test/",
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(60),
            timeoutForResource: .seconds(60),
            options: options,
            elapsed: elapsed
        )
    }

    @Test func whoHearsOfItsHostOpensItBeforeItEnds() {
        let reachability = reachability()
        let first = claim(1)
        for _ in 0..<2 { reachability.note(first, failure: Self.failure, AttemptMetrics()) }
        #expect(reachability.isClosed(first.hostKey))
        #expect(reachability.takeOpened().isEmpty)
        reachability.reached([claim(2)])
        #expect(!reachability.isClosed(first.hostKey))
        #expect(reachability.takeOpened() == [first.hostKey])
        #expect(changes.reasons.withLock { $0 } == ["Closed", "Opened"])
    }

    @Test func aHostThatServesOthersIsNotClosedForRefusals() {
        let reachability = reachability()
        for _ in 0..<10 {
            reachability.note(claim(1), failure: Self.failure, AttemptMetrics())
            reachability.reached([claim(2)])
        }
        #expect(!reachability.isClosed(HostKey(rawValue: 1)))
        #expect(changes.reasons.withLock { $0 }.isEmpty)
    }

    @Test func aHostThatRedirectsIsThere() {
        let reachability = reachability()
        var metrics = AttemptMetrics()
        metrics.redirects = 1
        for _ in 0..<10 { reachability.note(claim(1), failure: Self.failure, metrics) }
        #expect(!reachability.isClosed(HostKey(rawValue: 1)))
    }

    @Test func whatThisServiceIsShortOfSaysNothingOfAHost() {
        let reachability = reachability()
        var failure = Self.failure
        failure.isAboutHost = false
        for _ in 0..<10 { reachability.note(claim(1), failure: failure, AttemptMetrics()) }
        #expect(!reachability.isClosed(HostKey(rawValue: 1)))
    }

    /// Others may reach those of its addresses that the guard has denied to these tasks, which wait
    /// all the same.
    @Test func aHostOfWhichAnAddressIsDeniedIsNotClosed() {
        let reachability = reachability()
        var options = TransferOptions()
        options.waitsForConnectivity = true
        var summary = CurlSummary()
        summary.isAddressDenied = true
        let failure = TransferFailure(CurlError(.couldNotConnect, summary: summary))
        for _ in 0..<10 {
            let claim = claim(1, options)
            #expect(reachability.note(claim, failure: failure, AttemptMetrics()) != nil)
        }
        #expect(!reachability.isClosed(HostKey(rawValue: 1)))
        summary.primaryAddress = "192.0.2.1"
        #expect(TransferFailure(CurlError(.connectionLost, summary: summary)).isAboutHost)
    }

    /// No probe would tell it that its host is there again.
    @Test func aTaskThatWaitsForItselfAloneTriesAsOftenAsProbesDo() throws {
        let reachability = reachability()
        var options = TransferOptions()
        options.waitsForConnectivity = true
        var failure = Self.failure
        failure.isAboutHost = false
        for (elapsed, delay) in [(Duration.seconds(100), 50.0), (.seconds(500_000), 300)] {
            let claim = claim(1, options, elapsed: elapsed)
            let wait = try #require(reachability.note(claim, failure: failure, AttemptMetrics()))
            #expect((0.7...1.3).contains(wait / .seconds(delay)))
        }
    }

    /// It asks for days in `Retry-After`.
    @Test func aHostThatIsOutOfServiceKeepsNoTaskLongerThanItsLongestDelay() {
        let reachability = reachability()
        var options = TransferOptions()
        options.waitsForConnectivity = true
        func unavailable(for seconds: Int64) -> TransferFailure {
            TransferFailure(
                .httpStatus,
                "Unavailable.",
                httpStatus: 503,
                retryAfter: .seconds(seconds)
            )
        }
        let failure = unavailable(for: 500_000)
        let delayMax: Duration = .seconds(1200)
        for _ in 0..<2 { reachability.note(claim(1, options), failure: failure, AttemptMetrics()) }
        #expect(reachability.isClosed(HostKey(rawValue: 1)))
        let wait = reachability.note(claim(2, options), failure: failure, AttemptMetrics())
        #expect(wait == RetryPolicy.delayMaxDefault)
        options.retryDelayMax = delayMax
        let own = reachability.note(claim(3, options), failure: failure, AttemptMetrics())
        #expect(own == delayMax)
        let less = unavailable(for: 900)
        let asked = reachability.note(claim(4, options), failure: less, AttemptMetrics())
        #expect(asked == .seconds(900))
    }
}

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

    private func claim(_ fence: Int64) -> TaskClaim {
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
            timeoutForResource: .seconds(60)
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
}

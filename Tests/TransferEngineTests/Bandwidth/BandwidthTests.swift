import Curl
import Foundation
import Synchronization
import Testing
import TransferModel
import TransferStore

@testable import TransferEngine

/// The questions of a worker about limits.
@Suite struct BandwidthTests {
    private final class Running: TransferAttempt {
        let claim: TaskClaim
        let connections = Connections()
        var progress: AttemptStatus { AttemptStatus() }
        init(_ claim: TaskClaim) { self.claim = claim }
        func begin(on _: CurlLoop) {}
        func yieldConnection() {}
        func abandon() {}
    }

    private static let session = SessionID(UUID())
    private static let tenant = TenantID(UUID())

    private static func running(_ fence: Int64, _ limits: RateLimits) -> Running {
        Running(
            TaskClaim(
                task: TaskID(UUID()),
                fence: Fence(rawValue: fence),
                tenant: tenant,
                session: session,
                hostKey: HostKey(rawValue: 1),
                number: 1,
                url: "http://a.test/",
                headers: [],
                destination: nil,
                timeoutForRequest: .seconds(1),
                timeoutForResource: .seconds(1),
                limits: limits
            )
        )
    }

    private final class Asked: Sendable {
        let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
    }

    private static func bandwidth(_ asked: Asked) -> Bandwidth {
        Bandwidth(onQuery: { asked.count.withLock { $0 += 1 } })
    }

    @Test func withoutLimitsNothingIsAskedButWhetherThatHolds() {
        let asked = Asked()
        let bandwidth = Self.bandwidth(asked)
        #expect(bandwidth.query.version == nil)
        bandwidth.add(Self.running(1, RateLimits(version: 5)))
        bandwidth.add(Self.running(2, RateLimits(task: 1024, version: 6)))
        #expect(bandwidth.query.version == 5)
        #expect(bandwidth.query.owners.isEmpty)
        #expect(asked.value == 0)
        bandwidth.remove(Fence(rawValue: 1))
        #expect(bandwidth.query.version == 6)
        bandwidth.remove(Fence(rawValue: 2))
        #expect(bandwidth.query.version == nil)
    }

    @Test func whoSharesIsCountedAtOnceAndThenWithTheOthers() {
        let asked = Asked()
        let bandwidth = Self.bandwidth(asked)
        bandwidth.add(Self.running(1, RateLimits(session: 2048, tenant: 4096)))
        #expect(asked.value == 1)
        let question = bandwidth.query
        #expect(Set(question.owners) == [.session(Self.session), .tenant(Self.tenant)])
        var controls = Controls()
        for owner in question.owners {
            controls.sharers[owner] = Controls.Sharers(own: 1, all: 2)
        }
        bandwidth.apply(controls, to: question)
        bandwidth.add(Self.running(2, RateLimits(session: 2048, tenant: 4096)))
        #expect(asked.value == 1)
        bandwidth.remove(Fence(rawValue: 1))
        bandwidth.remove(Fence(rawValue: 2))
        bandwidth.apply(controls, to: question)
        #expect(bandwidth.query.owners.isEmpty)
    }

    @Test func aLimitThatIsNewIsCountedAtOnce() {
        let asked = Asked()
        let bandwidth = Self.bandwidth(asked)
        bandwidth.add(Self.running(1, RateLimits(version: 5)))
        var controls = Controls()
        controls.limits[Fence(rawValue: 1)] = RateLimits(session: 2048, version: 7)
        bandwidth.apply(controls, to: bandwidth.query)
        #expect(asked.value == 1)
        #expect(bandwidth.query.version == 7)
        #expect(bandwidth.query.owners == [.session(Self.session)])
        // An attempt that was claimed before the change and starts after it is told again.
        bandwidth.add(Self.running(2, RateLimits(version: 5)))
        #expect(bandwidth.query.version == 5)
    }

    @Test func demandFollowsUse() {
        let start = ContinuousClock.now
        var use = RateUse()
        func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }
        use.note(0, given: nil, at: start)
        #expect(use.demand == nil)
        use.note(100_000, given: 200_000, at: after(1))
        #expect(use.demand == 150_000)
        // It is too early to say.
        use.note(100_000, given: 200_000, at: after(1.1))
        #expect(use.demand == 150_000)
        use.note(250_000, given: 150_000, at: after(2))
        #expect(use.demand == nil)
        // The measurement starts again.
        use.note(0, given: 150_000, at: after(3))
        #expect(use.demand == 16_384)
    }
}

import Testing
import TransferModel

@testable import TransferEngine

@Suite struct HostConnectivityTests {
    private typealias Instant = ContinuousClock.Instant

    private static let start = ContinuousClock.now
    private static let hostKey = HostKey(rawValue: 1)
    private static let other = HostKey(rawValue: 2)

    private static var settings: HostConnectivity.Settings {
        var settings = HostConnectivity.Settings()
        settings.failuresMin = 3
        settings.silenceMin = .seconds(10)
        settings.probeDelayBase = .seconds(4)
        settings.probeDelayMax = .seconds(20)
        settings.probeDurationMax = .seconds(60)
        settings.hostsMax = 8
        return settings
    }

    private static func at(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    /// A machine, and its events in seconds after the start.
    private struct Trace: ~Copyable {
        var machine = HostConnectivity(settings: settings)

        func isClosed(_ hostKey: HostKey) -> Bool { machine.isClosed(hostKey) }

        mutating func admit(_ seconds: Double, _ hostKey: HostKey = hostKey)
            -> HostConnectivity.Admission
        {
            machine.admit(hostKey, at: at(seconds))
        }

        mutating func probe(_ seconds: Double) throws -> HostConnectivity.Probe {
            guard case .probe(let probe) = admit(seconds) else { throw Unexpected() }
            return probe
        }

        mutating func observe(
            _ observation: HostConnectivity.Observation,
            _ seconds: Double,
            hostKey: HostKey = hostKey,
            probe: HostConnectivity.Probe? = nil,
            chance: Double = 1
        ) -> HostConnectivity.Effect {
            machine.observe(observation, of: hostKey, probe: probe, at: at(seconds), chance: chance)
        }

        /// Closes the host: the third failure is after 10 s, so that the first probe is due at 14.
        mutating func close() {
            for seconds in [0.0, 5, 10] { _ = observe(.unreachable, seconds) }
        }
    }

    private struct Unexpected: Error {}

    /// A host that says that it is out of service counts as one that is away.
    @Test func aHostThatIsOutOfServiceIsProbed() throws {
        var trace = Trace()
        let first = [0.0, 5].map { trace.observe(.unavailable, $0) }
        #expect(first == [.none, .none])
        let third = trace.observe(.unavailable, 10)
        #expect(third == .wait(until: Self.at(14)))
        let probe = try trace.probe(14)
        let other = trace.admit(15)
        #expect(other != .open)
        let probed = trace.observe(.unavailable, 15, probe: probe)
        #expect(probed == .wait(until: Self.at(23)))
        let next = try trace.probe(23)
        let reached = trace.observe(.reached, 24, probe: next)
        #expect(reached == .opened)
    }

    @Test func enoughFailuresOverEnoughTimeCloseAHost() {
        var trace = Trace()
        #expect(trace.observe(.unreachable, 0) == .none)
        #expect(trace.observe(.unreachable, 1) == .none)
        #expect(trace.observe(.unreachable, 2) == .none)
        #expect(trace.observe(.unreachable, 9.9) == .none)
        #expect(trace.admit(9.9) == .open)
        #expect(trace.observe(.unreachable, 10) == .wait(until: Self.at(14)))
        #expect(trace.admit(10) == .wait(until: Self.at(14)))
        let closed = (trace.isClosed(Self.hostKey), trace.isClosed(Self.other))
        #expect(closed == (true, false))
    }

    @Test func fewFailuresCloseNothingHoweverLongTheyTake() {
        var trace = Trace()
        #expect(trace.observe(.unreachable, 0) == .none)
        #expect(trace.observe(.unreachable, 1000) == .none)
        #expect(trace.admit(1000) == .open)
    }

    @Test func aSuccessInBetweenBeginsTheCountAnew() {
        var trace = Trace()
        #expect(trace.observe(.unreachable, 0) == .none)
        #expect(trace.observe(.unreachable, 9) == .none)
        #expect(trace.observe(.reached, 9) == .none)
        #expect(trace.machine.count == 0)
        for seconds in [10.0, 11, 12, 19.9] {
            #expect(trace.observe(.unreachable, seconds) == .none)
        }
        #expect(trace.observe(.unreachable, 20) == .wait(until: Self.at(24)))
    }

    @Test func whatSaysNothingAboutTheHostDoesNotCount() {
        var trace = Trace()
        for seconds in [0.0, 5, 10, 15] { #expect(trace.observe(.nothing, seconds) == .none) }
        #expect(trace.machine.count == 0)
    }

    @Test func oneProbeGoesAndTheOthersWait() throws {
        var trace = Trace()
        trace.close()
        #expect(trace.admit(13.9) == .wait(until: Self.at(14)))
        _ = try trace.probe(14)
        #expect(trace.admit(14) == .wait(until: Self.at(74)))
        let isClosed = trace.isClosed(Self.hostKey)
        #expect(isClosed)
        #expect(trace.admit(14, Self.other) == .open)
    }

    @Test func aProbeThatArrivesOpensTheHostForAll() throws {
        var trace = Trace()
        trace.close()
        let probe = try trace.probe(14)
        #expect(trace.observe(.reached, 15, probe: probe) == .opened)
        #expect(trace.admit(15) == .open)
        #expect(trace.observe(.reached, 16, probe: probe) == .none)
        #expect(trace.machine.count == 0)
    }

    @Test func anEarlierAttemptThatArrivesOpensTheHostToo() throws {
        var trace = Trace()
        trace.close()
        #expect(trace.observe(.reached, 11) == .opened)
        #expect(trace.admit(11) == .open)
        trace.close()
        let probe = try trace.probe(14)
        #expect(trace.observe(.reached, 15) == .opened)
        #expect(trace.observe(.unreachable, 16, probe: probe) == .none)
        #expect(trace.admit(16) == .open)
    }

    @Test func theDelayDoublesUpToItsBound() throws {
        var trace = Trace()
        trace.close()
        var now = 14.0
        for delay in [8.0, 16, 20, 20] {
            let probe = try trace.probe(now)
            #expect(
                trace.observe(.unreachable, now + 1, probe: probe)
                    == .wait(until: Self.at(now + 1 + delay))
            )
            now += 1 + delay
        }
    }

    @Test func theDelayIsSpreadOverItsUpperHalf() {
        for (chance, delay) in [(0.0, 2.0), (0.5, 3), (0.75, 3.5)] {
            var trace = Trace()
            _ = trace.observe(.unreachable, 0)
            _ = trace.observe(.unreachable, 0)
            #expect(
                trace.observe(.unreachable, 10, chance: chance)
                    == .wait(until: Self.at(10 + delay))
            )
        }
    }

    @Test func lateFailuresOfEarlierAttemptsChangeNothing() throws {
        var trace = Trace()
        trace.close()
        #expect(trace.observe(.unreachable, 11) == .wait(until: Self.at(14)))
        #expect(trace.observe(.unreachable, 20) == .wait(until: Self.at(20)))
        let probe = try trace.probe(20)
        #expect(trace.observe(.unreachable, 21) == .wait(until: Self.at(80)))
        #expect(trace.admit(22) == .wait(until: Self.at(80)))
        #expect(trace.observe(.unreachable, 23, probe: probe) == .wait(until: Self.at(31)))
    }

    @Test func aProbeThatLearntNothingGivesItsPlaceToTheNext() throws {
        var trace = Trace()
        trace.close()
        let first = try trace.probe(14)
        #expect(trace.observe(.nothing, 15) == .none)
        #expect(trace.admit(15) == .wait(until: Self.at(74)))
        #expect(trace.observe(.nothing, 16, probe: first) == .none)
        let second = try trace.probe(16)
        #expect(second != first)
        // The delay continues at its previous value.
        #expect(trace.observe(.unreachable, 17, probe: second) == .wait(until: Self.at(25)))
    }

    @Test func aLostProbeIsReplacedAndNoLongerHeard() throws {
        var trace = Trace()
        trace.close()
        let lost = try trace.probe(14)
        #expect(trace.admit(73.9) == .wait(until: Self.at(74)))
        let next = try trace.probe(74)
        #expect(trace.observe(.unreachable, 75, probe: lost) == .wait(until: Self.at(134)))
        #expect(trace.observe(.nothing, 75, probe: lost) == .none)
        #expect(trace.admit(76) == .wait(until: Self.at(134)))
        #expect(trace.observe(.unreachable, 77, probe: next) == .wait(until: Self.at(85)))
    }

    @Test func hostsAreRememberedUpToABound() {
        var trace = Trace()
        trace.close()
        for key in 100..<1100 {
            let hostKey = HostKey(rawValue: Int64(key))
            #expect(trace.observe(.unreachable, 11 + Double(key), hostKey: hostKey) == .none)
            #expect(trace.machine.count <= 8)
        }
        // The closed one outlives any number of doubtful ones.
        let isClosed = trace.isClosed(Self.hostKey)
        #expect(isClosed)
        // The newest are still counted.
        let newest = HostKey(rawValue: 1099)
        #expect(trace.observe(.unreachable, 1200, hostKey: newest) == .none)
        #expect(trace.observe(.unreachable, 1210, hostKey: newest) == .wait(until: Self.at(1214)))
    }

    @Test func closedHostsAreForgottenFromTheOldest() {
        var trace = Trace()
        for key in 0..<20 {
            let hostKey = HostKey(rawValue: Int64(key))
            for seconds in [0.0, 5, 10] {
                _ = trace.observe(.unreachable, Double(key) * 100 + seconds, hostKey: hostKey)
            }
            #expect(trace.machine.count <= 8)
        }
        #expect(trace.admit(1911, HostKey(rawValue: 19)) == .wait(until: Self.at(1914)))
        #expect(trace.admit(1911, HostKey(rawValue: 0)) == .open)
    }
}

import TransferModel

/// Tells a host that is away from an attempt that failed, and tries such a host with one attempt
/// at a time while the others wait; decides, and does nothing itself.
///
/// A host is closed when several attempts in a row could not connect and none has for a while. At
/// the end of a delay, which doubles up to a bound, one attempt goes as a probe. As soon as any
/// attempt reaches the host it is open for all.
struct HostConnectivity: ~Copyable {
    typealias Instant = ContinuousClock.Instant

    /// When a host counts as away, and how it is tried.
    struct Settings: Sendable {
        /// Between two attempts of a task while it is not known whether its host is away.
        var retryDelay: Duration = .seconds(2)
        /// Failures in a row that close a host.
        var failuresMin = 5
        /// How long no attempt has reached it then, at least.
        var silenceMin: Duration = .seconds(30)
        /// From the closing to the first probe; doubled after each further one.
        var probeDelayBase: Duration = .seconds(5)
        var probeDelayMax: Duration = .seconds(300)
        /// A probe of which nothing was heard for so long is given up for lost.
        var probeDurationMax: Duration = .seconds(120)
        /// Hosts that are remembered; beyond, those unheard of for longest are forgotten.
        var hostsMax = 10_000
    }

    /// The one attempt that may try a closed host.
    struct Probe: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// Whether an attempt may begin.
    enum Admission: Equatable, Sendable {
        case open
        /// It may, and has to tell this when it ends.
        case probe(Probe)
        /// Not before then, unless the host opens earlier.
        case wait(until: Instant)
    }

    /// What an attempt has learnt about its host.
    enum Observation: Equatable, Sendable {
        /// The host took the connection, whatever came of it.
        case reached
        /// Its name has no address, or no address took the connection.
        case unreachable
        /// It ended for another reason before it could know.
        case nothing
    }

    /// What follows from an observation.
    enum Effect: Equatable, Sendable {
        case none
        /// The tasks that wait for the host may go.
        case opened
        /// The task waits until then; this is no failure of its own.
        case wait(until: Instant)
    }

    /// What is known of a host that was not reached lately; without an entry it is open.
    private enum State {
        /// Open; closed by enough further failures, forgotten when it is reached.
        case doubtful(failures: Int, since: Instant)
        /// Closed; the first attempt after `until` probes it.
        case closed(probes: Int, until: Instant)
        /// Closed; the probe's end or the deadline moves it on.
        case probing(Probe, probes: Int, deadline: Instant)
    }

    private let settings: Settings
    private var states: [Lane: (state: State, changed: Instant)] = [:]
    private var probeCount: UInt64 = 0

    init(settings: Settings = Settings()) {
        precondition(settings.hostsMax > 0 && settings.failuresMin > 0, "bounds are positive")
        self.settings = settings
    }

    /// How many hosts are remembered.
    var count: Int { states.count }

    /// Whether attempts are kept from the host, but for one at a time that probes it.
    func isClosed(_ lane: Lane) -> Bool {
        switch states[lane]?.state {
        case .closed, .probing: true
        case .doubtful, nil: false
        }
    }

    /// An attempt wants to begin.
    mutating func admit(_ lane: Lane, at now: Instant) -> Admission {
        guard let state = states[lane]?.state else { return .open }
        if let end = Self.end(of: state, at: now) { return .wait(until: end) }
        switch state {
        case .doubtful: return .open
        case .closed(let probes, _), .probing(_, let probes, _):
            probeCount += 1
            let probe = Probe(number: probeCount)
            set(
                lane,
                .probing(probe, probes: probes, deadline: now + settings.probeDurationMax),
                at: now
            )
            return .probe(probe)
        }
    }

    /// An attempt knows something about its host, or has ended; more than one word of an attempt
    /// does no harm.
    ///
    /// `probe` is what it was admitted as; `chance`, uniform in 0..<1, spreads the next probes of
    /// hosts that went away together.
    mutating func observe(
        _ observation: Observation,
        of lane: Lane,
        probe: Probe?,
        at now: Instant,
        chance: Double
    ) -> Effect {
        switch (observation, states[lane]?.state) {
        case (.reached, .closed), (.reached, .probing):
            states[lane] = nil
            return .opened
        case (.reached, .doubtful), (.reached, nil):
            states[lane] = nil
            return .none
        case (.unreachable, nil):
            return doubt(lane, failures: 1, since: now, at: now, chance)
        case (.unreachable, .doubtful(let failures, let since)):
            return doubt(lane, failures: failures + 1, since: since, at: now, chance)
        case (.unreachable, .probing(probe, let probes, _)):
            return close(lane, probes: probes + 1, at: now, chance)
        case (.unreachable, .closed(_, let end)), (.unreachable, .probing(_, _, let end)):
            // Begun before the host was closed; tells nothing new.
            return .wait(until: max(end, now))
        case (.nothing, .probing(probe, let probes, _)):
            // The next attempt takes its place at once.
            set(lane, .closed(probes: probes, until: now), at: now)
            return .none
        case (.nothing, _): return .none
        }
    }

    private mutating func doubt(
        _ lane: Lane,
        failures: Int,
        since: Instant,
        at now: Instant,
        _ chance: Double
    ) -> Effect {
        guard failures >= settings.failuresMin, now - since >= settings.silenceMin else {
            set(lane, .doubtful(failures: failures, since: since), at: now)
            return .none
        }
        return close(lane, probes: 0, at: now, chance)
    }

    private mutating func close(
        _ lane: Lane,
        probes: Int,
        at now: Instant,
        _ chance: Double
    ) -> Effect {
        let ceiling = min(settings.probeDelayBase * (1 << min(probes, 20)), settings.probeDelayMax)
        let end = now + ceiling * (0.5 + chance / 2)
        set(lane, .closed(probes: probes, until: end), at: now)
        return .wait(until: end)
    }

    /// Until when nobody may try; nil when somebody may.
    private static func end(of state: State, at now: Instant) -> Instant? {
        switch state {
        case .doubtful: nil
        case .closed(_, let end), .probing(_, _, let end): now < end ? end : nil
        }
    }
}

extension HostConnectivity {
    private mutating func set(_ lane: Lane, _ state: State, at now: Instant) {
        if states[lane] == nil, states.count >= settings.hostsMax { forget() }
        states[lane] = (state, now)
    }

    /// Forgets a quarter at once, so that the sorting costs each new host little: first those that
    /// are only doubtful, and of these the oldest.
    private mutating func forget() {
        func isDoubtful(_ state: State) -> Bool {
            if case .doubtful = state { true } else { false }
        }
        let ordered = states.map { (lane: $0.key, doubtful: isDoubtful($0.value.state), $0.value) }
            .sorted { left, right in
                left.doubtful == right.doubtful
                    ? left.2.changed < right.2.changed : left.doubtful
            }
        for entry in ordered.prefix(max(1, settings.hostsMax / 4)) { states[entry.lane] = nil }
    }
}

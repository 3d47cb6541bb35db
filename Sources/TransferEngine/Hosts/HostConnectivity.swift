import TransferModel

/// The states of hosts, which tell a host that is away from a failed attempt; they only decide and
/// carry nothing out.
///
/// A host that is away is tried with one attempt at a time while the others wait.
///
/// A host is closed when several attempts in a row could not connect, or were told that it is out
/// of service, and none has fared better for a while. After a delay, which doubles up to a limit,
/// one attempt goes as a probe. As soon as any attempt reaches the host, it is open for all.
struct HostConnectivity: ~Copyable {
    typealias Instant = ContinuousClock.Instant

    /// The rules for when a host counts as unreachable and how it is tried.
    struct Settings: Sendable {
        /// The delay between two attempts of a task while it is not known whether its host is
        /// unreachable.
        var retryDelay: Duration = .seconds(2)
        /// The number of failures in a row that close a host.
        var failuresMin = 5
        /// The minimum time for which no attempt has reached a host before it is closed.
        var silenceMin: Duration = .seconds(30)
        /// The delay from the closing to the first probe; doubled after each further probe.
        var probeDelayBase: Duration = .seconds(5)
        var probeDelayMax: Duration = .seconds(300)
        /// The time after which a probe without a reply is considered lost.
        var probeDurationMax: Duration = .seconds(120)
        /// The maximum number of hosts remembered; beyond it, those without news for longest are
        /// forgotten.
        var hostsMax = 10_000
    }

    /// The one attempt that may try a closed host.
    struct Probe: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// The decision whether an attempt may start.
    enum Admission: Equatable, Sendable {
        case open
        /// The attempt may start, and has to name this probe when it ends.
        case probe(Probe)
        /// The attempt may not start before then, unless the host opens earlier.
        case wait(until: Instant)
    }

    /// The fact that an attempt has learnt about its host.
    enum Observation: Equatable, Sendable {
        /// The host accepted the connection, whatever happened next.
        case reached
        /// Its name has no address, or no address accepted the connection.
        case unreachable
        /// It has said that it is out of service: 503 (RFC 9110 §15.6.4).
        case unavailable
        /// The attempt ended for another reason before it could know.
        case nothing
    }

    /// The consequence of an observation.
    enum Effect: Equatable, Sendable {
        case none
        /// The tasks that wait for the host may run.
        case opened
        /// The task waits until then; this does not count as its own failure.
        case wait(until: Instant)
    }

    /// The state of a host that was not reached recently; a host without an entry is open.
    private enum State {
        /// The host is open; enough further failures close it, and its entry is forgotten when it
        /// is reached.
        case doubtful(failures: Int, since: Instant)
        /// The host is closed; the first attempt after `until` probes it.
        case closed(probes: Int, until: Instant)
        /// The host is closed and being probed; the probe's end or the deadline ends this state.
        case probing(Probe, probes: Int, deadline: Instant)
    }

    private let settings: Settings
    private var states: [HostKey: (state: State, changed: Instant)] = [:]
    private var probeCount: UInt64 = 0

    init(settings: Settings = Settings()) {
        precondition(settings.hostsMax > 0 && settings.failuresMin > 0, "bounds are positive")
        self.settings = settings
    }

    /// The number of hosts remembered; for tests.
    var count: Int { states.count }

    /// Whether attempts are kept from the host, except for one probe at a time.
    func isClosed(_ hostKey: HostKey) -> Bool {
        switch states[hostKey]?.state {
        case .closed, .probing: true
        case .doubtful, nil: false
        }
    }

    /// Decides whether an attempt may start.
    mutating func admit(_ hostKey: HostKey, at now: Instant) -> Admission {
        guard let state = states[hostKey]?.state else { return .open }
        if let end = Self.end(of: state, at: now) { return .wait(until: end) }
        switch state {
        case .doubtful: return .open
        case .closed(let probes, _), .probing(_, let probes, _):
            probeCount += 1
            let probe = Probe(number: probeCount)
            set(
                hostKey,
                .probing(probe, probes: probes, deadline: now + settings.probeDurationMax),
                at: now
            )
            return .probe(probe)
        }
    }

    /// Records what an attempt knows about its host, or that it has ended; several reports from one
    /// attempt do no harm.
    ///
    /// `probe` is the probe it was admitted as, if any; `chance`, uniform in 0..<1, spreads the
    /// next probes of hosts that became unreachable together.
    mutating func observe(
        _ observation: Observation,
        of hostKey: HostKey,
        probe: Probe?,
        at now: Instant,
        chance: Double
    ) -> Effect {
        switch (observation, states[hostKey]?.state) {
        case (.reached, .closed), (.reached, .probing):
            states[hostKey] = nil
            return .opened
        case (.reached, .doubtful), (.reached, nil):
            states[hostKey] = nil
            return .none
        case (.unreachable, nil), (.unavailable, nil):
            return doubt(hostKey, failures: 1, since: now, at: now, chance)
        case (.unreachable, .doubtful(let failures, let since)),
            (.unavailable, .doubtful(let failures, let since)):
            return doubt(hostKey, failures: failures + 1, since: since, at: now, chance)
        case (.unreachable, .probing(probe, let probes, _)),
            (.unavailable, .probing(probe, let probes, _)):
            return close(hostKey, probes: probes + 1, at: now, chance)
        case (.unreachable, .closed(_, let end)), (.unreachable, .probing(_, _, let end)),
            (.unavailable, .closed(_, let end)), (.unavailable, .probing(_, _, let end)):
            // The attempt started before the host was closed, so it tells nothing new.
            return .wait(until: max(end, now))
        case (.nothing, .probing(probe, let probes, _)):
            // The next attempt takes its place at once.
            set(hostKey, .closed(probes: probes, until: now), at: now)
            return .none
        case (.nothing, _): return .none
        }
    }

    private mutating func doubt(
        _ hostKey: HostKey,
        failures: Int,
        since: Instant,
        at now: Instant,
        _ chance: Double
    ) -> Effect {
        guard failures >= settings.failuresMin, now - since >= settings.silenceMin else {
            set(hostKey, .doubtful(failures: failures, since: since), at: now)
            return .none
        }
        return close(hostKey, probes: 0, at: now, chance)
    }

    private mutating func close(
        _ hostKey: HostKey,
        probes: Int,
        at now: Instant,
        _ chance: Double
    ) -> Effect {
        let ceiling = min(settings.probeDelayBase * (1 << min(probes, 20)), settings.probeDelayMax)
        let end = now + ceiling * (0.5 + chance / 2)
        set(hostKey, .closed(probes: probes, until: end), at: now)
        return .wait(until: end)
    }

    /// Returns the time until which no attempt may try the host; nil when one may.
    private static func end(of state: State, at now: Instant) -> Instant? {
        switch state {
        case .doubtful: nil
        case .closed(_, let end), .probing(_, _, let end): now < end ? end : nil
        }
    }
}

extension HostConnectivity {
    private mutating func set(_ hostKey: HostKey, _ state: State, at now: Instant) {
        if states[hostKey] == nil, states.count >= settings.hostsMax { forget() }
        states[hostKey] = (state, now)
    }

    /// Forgets a quarter of the hosts at once, so that sorting costs little for each new host;
    /// those that are only doubtful go first, and of these the oldest.
    private mutating func forget() {
        func isDoubtful(_ state: State) -> Bool {
            if case .doubtful = state { true } else { false }
        }
        let ordered = states.map {
            (hostKey: $0.key, isDoubtful: isDoubtful($0.value.state), changed: $0.value.changed)
        }
        .sorted { left, right in
            left.isDoubtful == right.isDoubtful ? left.changed < right.changed : left.isDoubtful
        }
        for entry in ordered.prefix(max(1, settings.hostsMax / 4)) { states[entry.hostKey] = nil }
    }
}

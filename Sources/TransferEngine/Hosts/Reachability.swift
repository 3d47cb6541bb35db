import PollLoop
import Synchronization
import TransferModel

/// The knowledge of this worker's attempts about their hosts: which attempt may try an unreachable
/// host, and how long its tasks wait.
final class Reachability: Sendable {
    private struct State: ~Copyable {
        var hosts: HostConnectivity
        var probes: [Fence: HostConnectivity.Probe] = [:]
        var opened: [HostKey: Release] = [:]
    }

    /// The period in which the tasks of a host that has been reached are released repeatedly: a
    /// task that was just being set to wait was not yet there to be released.
    private struct Release {
        var next: ContinuousClock.Instant
        let end: ContinuousClock.Instant
    }

    /// The closing or opening of a host, with a sentence that says why.
    enum Change {
        case closed(String)
        case opened(String)
    }

    private static let releaseInterval: Duration = .seconds(1)
    private static let releaseDuration: Duration = .seconds(10)

    private let state: Mutex<State>
    private let settings: HostConnectivity.Settings
    private let retryPolicy: RetryPolicy
    private let onChange: @Sendable (TaskClaim, Change) -> Void

    /// Creates an instance that knows no host yet; `onChange` is called when a host is closed or
    /// opened, with the attempt that has shown it.
    ///
    /// `retryPolicy` bounds how long a host may ask a task to wait, unless the task has a bound of
    /// its own.
    init(
        _ settings: HostConnectivity.Settings,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onChange: @escaping @Sendable (TaskClaim, Change) -> Void
    ) {
        state = Mutex(State(hosts: HostConnectivity(settings: settings)))
        self.settings = settings
        self.retryPolicy = retryPolicy
        self.onChange = onChange
    }

    /// Whether a host is unreachable and only probed.
    func isClosed(_ hostKey: HostKey) -> Bool { state.withLock { $0.hosts.isClosed(hostKey) } }

    /// Returns how long the attempt has to wait for the host; nil when it may start.
    func wait(before claim: TaskClaim) -> Duration? {
        let now = ContinuousClock.now
        return state.withLock { state in
            switch state.hosts.admit(claim.hostKey, at: now) {
            case .open: return nil
            case .probe(let probe):
                state.probes[claim.fence] = probe
                return nil
            case .wait(let until): return max(until - now, .zero)
            }
        }
    }

    /// Learns what an ended attempt knows.
    ///
    /// - Returns: how long its task waits, if it waits for connectivity and the host was not
    ///   reached.
    @discardableResult
    func note(
        _ claim: TaskClaim,
        failure: TransferFailure?,
        _ metrics: AttemptMetrics
    ) -> Duration? {
        let observation = Self.observation(failure, metrics)
        let now = ContinuousClock.now
        // Drawn only for what may close a host: each draw is a system call.
        let chance: Double =
            switch observation {
            case .unreachable, .unavailable: .random(in: 0..<1)
            case .reached, .nothing: 0
            }
        let (wait, change): (Duration?, Change?) = state.withLock { state in
            let wasClosed = state.hosts.isClosed(claim.hostKey)
            let effect = state.hosts.observe(
                observation,
                of: claim.hostKey,
                probe: state.probes.removeValue(forKey: claim.fence),
                at: now,
                chance: chance
            )
            if effect == .opened {
                state.opened[claim.hostKey] = Release(next: now, end: now + Self.releaseDuration)
            }
            let isClosed = state.hosts.isClosed(claim.hostKey)
            let change: Change? =
                switch (wasClosed, isClosed) {
                case (false, true): .closed(closing(observation))
                case (true, false): .opened(Self.opening)
                default: nil
                }
            guard claim.options.waitsForConnectivity ?? false else { return (nil, change) }
            switch (observation, effect) {
            case (.unreachable, .wait(let until)), (.unavailable, .wait(let until)):
                // All tasks of a host may be here: without a bound none would try it again.
                let delayMax = retryPolicy.overridden(by: claim.options).delayMax
                let asked = min(failure?.retryAfter ?? .zero, delayMax)
                return (max(until - now, settings.retryDelay, asked), change)
            case (.unreachable, _): return (settings.retryDelay.jittered, change)
            // One 503 may concern one resource alone; it is retried like any other failure.
            default: return (ownWait(after: failure, observation, of: claim), change)
            }
        }
        if let change { onChange(claim, change) }
        return wait
    }

    /// Returns how long a task waits that has not reached its host although others may; nil after
    /// any other failure.
    ///
    /// No host is closed for it, so its wait grows with the time that it has waited.
    private func ownWait(
        after failure: TransferFailure?,
        _ observation: HostConnectivity.Observation,
        of claim: TaskClaim
    ) -> Duration? {
        guard observation == .nothing, failure?.isWithoutConnection ?? false else { return nil }
        return min(max(settings.retryDelay, claim.elapsed / 2), settings.probeDelayMax).jittered
    }

    /// Returns how long the task of an attempt waits that a test of a client made fail, from which
    /// nothing is learnt about the host; nil when the task does not wait for connectivity.
    func wait(afterWanted failure: TransferFailure, of claim: TaskClaim) -> Duration? {
        guard claim.options.waitsForConnectivity ?? false, failure.isWithoutConnection else {
            return nil
        }
        return settings.retryDelay.jittered
    }

    /// Records that these attempts have just received something from their hosts and continue.
    func reached(_ claims: [TaskClaim]) {
        let now = ContinuousClock.now
        let opened = state.withLock { state in
            claims.filter { claim in
                let effect = state.hosts.observe(
                    .reached,
                    of: claim.hostKey,
                    probe: state.probes.removeValue(forKey: claim.fence),
                    at: now,
                    chance: 0
                )
                guard effect == .opened else { return false }
                state.opened[claim.hostKey] = Release(next: now, end: now + Self.releaseDuration)
                return true
            }
        }
        for claim in opened { onChange(claim, .opened(Self.opening)) }
    }

    private static let opening = "Opened, because an attempt has reached it."

    private func closing(_ observation: HostConnectivity.Observation) -> String {
        let what = observation == .unavailable ? "were answered with 503" : "could not connect"
        return "Closed, because \(settings.failuresMin) or more attempts in a row \(what) for "
            + "\(Int(settings.silenceMin / .seconds(1))) s; one at a time tries it again."
    }

    /// Returns the hosts that have been reached again and whose tasks are to be released now.
    func takeOpened() -> [HostKey] {
        let now = ContinuousClock.now
        return state.withLock { state in
            let hostKeys = state.opened.filter { $0.value.next <= now }.map(\.key)
            for hostKey in hostKeys { state.opened[hostKey]?.next = now + Self.releaseInterval }
            state.opened = state.opened.filter { $0.value.end > now }
            return hostKeys
        }
    }

    /// Records that an attempt ends before it has started, and leaves the probe to another one.
    func forget(_ claim: TaskClaim) {
        note(claim, failure: nil, AttemptMetrics())
    }

    private static func observation(
        _ failure: TransferFailure?,
        _ metrics: AttemptMetrics
    ) -> HostConnectivity.Observation {
        if let failure, failure.httpStatus == 503, metrics.redirects == 0 {
            return failure.isAboutHost ? .unavailable : .nothing
        }
        // An attempt that was redirected had an answer before, whatever the other host does.
        if metrics.remoteAddress != nil || metrics.redirects > 0 { return .reached }
        guard let failure, failure.isAboutHost else { return .nothing }
        return failure.isWithoutConnection ? .unreachable : .nothing
    }
}

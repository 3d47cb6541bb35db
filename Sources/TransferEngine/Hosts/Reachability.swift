import Synchronization
import TransferModel

/// What this worker's attempts have learnt about their hosts: who may ask one that is away, and
/// what its tasks wait for.
final class Reachability: Sendable {
    private struct State: ~Copyable {
        var hosts: HostConnectivity
        var probes: [Fence: HostConnectivity.Probe] = [:]
        var opened: [Lane: Release] = [:]
    }

    /// The tasks of a host that has been reached are released again for a while: one that was just
    /// being set to wait was not there yet to be released.
    private struct Release {
        var next: ContinuousClock.Instant
        let end: ContinuousClock.Instant
    }

    /// A host that was closed or opened, with a sentence that says why.
    enum Change {
        case closed(String)
        case opened(String)
    }

    private static let releaseInterval: Duration = .seconds(1)
    private static let releaseDuration: Duration = .seconds(10)

    private let state: Mutex<State>
    private let settings: HostConnectivity.Settings
    private let onChange: @Sendable (TaskClaim, Change) -> Void

    /// `onChange` is told of hosts that are closed or opened, with the attempt that has shown it.
    init(
        _ settings: HostConnectivity.Settings,
        onChange: @escaping @Sendable (TaskClaim, Change) -> Void
    ) {
        state = Mutex(State(hosts: HostConnectivity(settings: settings)))
        self.settings = settings
        self.onChange = onChange
    }

    /// Whether a host is away, and only probed.
    func isClosed(_ lane: Lane) -> Bool { state.withLock { $0.hosts.isClosed(lane) } }

    /// How long nobody asks the host, or nil when the attempt may begin.
    func wait(before claim: TaskClaim) -> Duration? {
        let now = ContinuousClock.now
        return state.withLock { state in
            switch state.hosts.admit(claim.lane, at: now) {
            case .open: return nil
            case .probe(let probe):
                state.probes[claim.fence] = probe
                return nil
            case .wait(let until): return max(until - now, .zero)
            }
        }
    }

    /// Takes up what an ended attempt knows.
    ///
    /// - Returns: how long its task waits, when it wants to and the host was not reached.
    @discardableResult
    func note(
        _ claim: TaskClaim,
        failure: TransferFailure?,
        _ metrics: AttemptMetrics
    ) -> Duration? {
        let observation = Self.observation(failure, metrics)
        let now = ContinuousClock.now
        let (wait, change): (Duration?, Change?) = state.withLock { state in
            let wasClosed = state.hosts.isClosed(claim.lane)
            let effect = state.hosts.observe(
                observation,
                of: claim.lane,
                probe: state.probes.removeValue(forKey: claim.fence),
                at: now,
                chance: .random(in: 0..<1)
            )
            if effect == .opened {
                state.opened[claim.lane] = Release(next: now, end: now + Self.releaseDuration)
            }
            let isClosed = state.hosts.isClosed(claim.lane)
            let change: Change? =
                switch (wasClosed, isClosed) {
                case (false, true): .closed(closing)
                case (true, false): .opened(Self.opening)
                default: nil
                }
            guard observation == .unreachable, claim.options.waitsForConnectivity ?? false else {
                return (nil, change)
            }
            guard case .wait(let until) = effect else {
                return (settings.retryDelay.jittered, change)
            }
            return (max(until - now, settings.retryDelay), change)
        }
        if let change { onChange(claim, change) }
        return wait
    }

    /// These attempts have just heard of their hosts, and go on.
    func reached(_ claims: [TaskClaim]) {
        let now = ContinuousClock.now
        let opened = state.withLock { state in
            claims.filter { claim in
                let effect = state.hosts.observe(
                    .reached,
                    of: claim.lane,
                    probe: state.probes.removeValue(forKey: claim.fence),
                    at: now,
                    chance: 0
                )
                guard effect == .opened else { return false }
                state.opened[claim.lane] = Release(next: now, end: now + Self.releaseDuration)
                return true
            }
        }
        for claim in opened { onChange(claim, .opened(Self.opening)) }
    }

    private static let opening = "Opened, because an attempt has reached it."

    private var closing: String {
        "Closed, because \(settings.failuresMin) or more attempts in a row could not connect for "
            + "\(Int(settings.silenceMin / .seconds(1))) s; one at a time tries it again."
    }

    /// The hosts that have been reached again, and whose tasks are to be released now.
    func takeOpened() -> [Lane] {
        let now = ContinuousClock.now
        return state.withLock { state in
            let lanes = state.opened.filter { $0.value.next <= now }.map(\.key)
            for lane in lanes { state.opened[lane]?.next = now + Self.releaseInterval }
            state.opened = state.opened.filter { $0.value.end > now }
            return lanes
        }
    }

    /// An attempt ends before it has begun, and leaves the probe to another one.
    func forget(_ claim: TaskClaim) {
        note(claim, failure: nil, AttemptMetrics())
    }

    private static func observation(
        _ failure: TransferFailure?,
        _ metrics: AttemptMetrics
    ) -> HostConnectivity.Observation {
        // Whoever is led elsewhere was answered before, whatever the other host does.
        if metrics.remoteAddress != nil || metrics.redirects > 0 { return .reached }
        guard let failure, failure.isAboutHost else { return .nothing }
        return switch failure.code {
        case .couldNotConnect, .couldNotResolveHost: .unreachable
        default: .nothing
        }
    }
}

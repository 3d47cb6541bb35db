package import PollLoop
package import TransferModel

/// How many tasks of a tenant may begin in a short time while another tenant is there and the
/// processors are busy.
///
/// Small files use all of the processors that there are, and each step of another tenant's request
/// or download would wait for one. Transfers that last begin seldom, so that no limit concerns
/// them. Tenants with many tasks do not limit each other, only beside one with few.
package struct ClaimPace: Sendable {
    /// The time for which beginnings are counted, about that between two claims.
    static let period: Duration = .milliseconds(8)

    private let presence: TenantPresence
    private let processors: @Sendable () -> ProcessorUse
    private var limit: WorkLimit
    private var start: ContinuousClock.Instant
    /// The tasks that have begun in this period, by tenant.
    private var begun: [TenantID: Int] = [:]
    /// The tasks that began in the period before.
    private var before: [TenantID: Int] = [:]
    /// The tenants with many tasks, each with the time until which it counts as one.
    private var busyUntil: [TenantID: ContinuousClock.Instant] = [:]
    private var isWakePlanned = false

    package init(
        beside presence: TenantPresence,
        limit: WorkLimit = .beginnings,
        processors: @escaping @Sendable () -> ProcessorUse = ProcessorUse.now,
        at now: ContinuousClock.Instant = .now
    ) {
        self.presence = presence
        self.limit = limit
        self.processors = processors
        start = now
    }

    /// Returns how many tasks of each tenant may begin now.
    mutating func room(at now: ContinuousClock.Instant) -> (TenantID) -> Int {
        turn(at: now)
        let (presence, begun, value) = (presence, begun, limit.value)
        let busy = Set(busyUntil.keys)
        return { tenant in
            presence.isAlone(tenant, beside: busy, at: now)
                ? .max : max(0, value - begun[tenant, default: 0])
        }
    }

    /// Takes note of tasks that begin now, and looks at the processors if they may limit a tenant.
    mutating func note(_ tenants: some Sequence<TenantID>, at now: ContinuousClock.Instant) {
        turn(at: now)
        for tenant in tenants {
            begun[tenant, default: 0] += 1
            if begun[tenant, default: 0] >= limit.min {
                busyUntil[tenant] = now + TenantPresence.duration
            }
        }
        for tenant in begun.keys where busyUntil[tenant] == nil {
            presence.note(tenant, at: now)
        }
        guard limit.isDue(at: now),
            let most = busyUntil.keys.max(by: { count(of: $0) < count(of: $1) }),
            !presence.isAlone(most, beside: Set(busyUntil.keys), at: now)
        else { return }
        limit.adapt(to: processors(), inHand: count(of: most), at: now)
    }

    /// Returns the time after which to wake the loop because tenants may begin more, if any has
    /// begun as many as it may; once for each period.
    mutating func takeWakeUp(at now: ContinuousClock.Instant) -> Duration? {
        guard !isWakePlanned, begun.values.contains(where: { $0 >= limit.value }) else {
            return nil
        }
        isWakePlanned = true
        return max(.zero, start + Self.period - now)
    }

    private func count(of tenant: TenantID) -> Int {
        max(begun[tenant, default: 0], before[tenant, default: 0])
    }

    /// Begins the period that it is time for.
    private mutating func turn(at now: ContinuousClock.Instant) {
        guard now - start >= Self.period else { return }
        before = begun
        begun = [:]
        busyUntil = busyUntil.filter { $0.value > now }
        start = now
        isWakePlanned = false
    }
}

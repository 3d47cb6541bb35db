import TransferMetrics
import TransferModel

/// How many refusals are written of each tenant, and of all requests without a good key, so that
/// nobody hides those of another.
///
/// A bounded number of tenants has a budget of its own at once; the others share one.
struct RefusalBudgets {
    /// The maximum number of budgets, beside those that are shared.
    static let countMax = 1024

    /// Whom a budget is for.
    private enum Owner: Hashable {
        /// All requests without a good key.
        case nobody
        case tenant(TenantID)
        /// The tenants for which there is no room.
        case others

        var tenant: TenantID? {
            if case .tenant(let id) = self { id } else { nil }
        }
    }

    private var budgets: [Owner: LineBudget] = [:]
    /// The last time at which room was made.
    private var sweptAt: ContinuousClock.Instant?

    /// Takes a line for a refusal of `tenant`; nil for a request without a good key.
    ///
    /// - Returns: the number of those before it that were not written and not told of, and the
    ///   tenant that they are all of, if it is one; nil if this one is not to be written.
    mutating func take(
        for tenant: TenantID?,
        at now: ContinuousClock.Instant
    ) -> (unwritten: Int, tenant: TenantID?)? {
        let owner = owner(for: tenant, at: now)
        let taken = budgets[owner, default: LineBudget()].take(at: now)
        return taken.map { ($0, owner.tenant) }
    }

    /// Forgets the budgets whose period is over.
    ///
    /// - Returns: the refusals that were not written and not told of, by their tenant; nil for
    ///   those of no tenant, or of several.
    mutating func takeEnded(
        at now: ContinuousClock.Instant
    ) -> [(tenant: TenantID?, unwritten: Int)] {
        let ended = budgets.filter { $1.isOver(at: now) }
        for owner in ended.keys { budgets[owner] = nil }
        return ended.filter { $1.unwritten > 0 }.map { ($0.tenant, $1.unwritten) }
    }

    private mutating func owner(
        for tenant: TenantID?,
        at now: ContinuousClock.Instant
    ) -> Owner {
        guard let tenant else { return .nobody }
        let own = Owner.tenant(tenant)
        if budgets[own] != nil || budgets.count < Self.countMax { return own }
        sweep(at: now)
        return budgets.count < Self.countMax ? own : .others
    }

    /// Makes room once a period: what a tenant is not told of yet, it is not told of by itself.
    private mutating func sweep(at now: ContinuousClock.Instant) {
        if let sweptAt, now - sweptAt < LineBudget.period { return }
        sweptAt = now
        let unwritten = takeEnded(at: now).reduce(0) { $0 + $1.unwritten }
        budgets[.others, default: LineBudget()].add(unwritten: unwritten)
    }
}

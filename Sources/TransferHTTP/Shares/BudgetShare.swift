import Synchronization
import TransferModel

/// A request's share of a ``FairBudget``, given back when nothing references it any more.
final class BudgetShare: Sendable {
    private let budget: FairBudget
    private let tenant: TenantID?
    private let count = Mutex(0)

    init(of budget: FairBudget, for tenant: TenantID?) {
        self.budget = budget
        self.tenant = tenant
    }

    deinit { shrink(to: 0) }

    /// The amount that the share holds.
    var held: Int { count.withLock { $0 } }

    /// Takes more if it is available now; a first part also only if nobody waits for it.
    ///
    /// - Returns: whether it was.
    func takeIfThere(_ more: Int) -> Bool {
        let isTaken = budget.takeNow(more, for: tenant, addingToShare: held > 0)
        guard isTaken else { return false }
        count.withLock { $0 += more }
        return true
    }

    /// Takes more now, also before those who wait: what is here already cannot wait, and would be
    /// refused although there is room.
    ///
    /// - Throws: ``Problem`` when there is not enough now.
    func takeNow(_ more: Int) throws(Problem) {
        guard budget.takeNow(more, for: tenant, addingToShare: true) else { throw refusal }
        count.withLock { $0 += more }
    }

    /// Takes more, and waits for it if necessary.
    ///
    /// - Throws: ``Problem`` when there is not enough in time.
    func take(_ more: Int) async throws(Problem) {
        guard await budget.take(more, for: tenant) else { throw refusal }
        count.withLock { $0 += more }
    }

    /// Takes more, even beyond what is available.
    func overdraw(_ more: Int) {
        budget.overdraw(more, for: tenant)
        count.withLock { $0 += more }
    }

    /// Gives back all but `rest`.
    func shrink(to rest: Int) {
        let surplus = count.withLock { count in
            let surplus = Swift.max(0, count - rest)
            count -= surplus
            return surplus
        }
        if surplus > 0 { budget.giveBack(surplus, of: tenant) }
    }

    private var refusal: Problem { Problem(exhausted: budget.name) }
}

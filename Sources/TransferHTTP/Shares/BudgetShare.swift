import Synchronization
import TransferModel

/// What one request holds of a ``FairBudget``, given back when nobody holds the share any more.
final class BudgetShare: Sendable {
    private let budget: FairBudget
    private let tenant: TenantID?
    private let count = Mutex(0)

    init(of budget: FairBudget, for tenant: TenantID?) {
        self.budget = budget
        self.tenant = tenant
    }

    deinit { shrink(to: 0) }

    /// How much it holds.
    var held: Int { count.withLock { $0 } }

    /// - Returns: whether there is as much now.
    func takeIfThere(_ more: Int) -> Bool {
        guard budget.takeNow(more, for: tenant) else { return false }
        count.withLock { $0 += more }
        return true
    }

    /// - Throws: ``Problem`` when there is not as much now.
    func takeNow(_ more: Int) throws(Problem) {
        guard takeIfThere(more) else { throw refusal }
    }

    /// - Throws: ``Problem`` when there is not as much in time.
    func take(_ more: Int) async throws(Problem) {
        guard await budget.take(more, for: tenant) else { throw refusal }
        count.withLock { $0 += more }
    }

    /// Takes also what is not there.
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

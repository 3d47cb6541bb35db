import Synchronization
import TransferModel

/// An amount that all requests share, of which each tenant gets a part; waiting requests are served
/// in the order in which they came.
///
/// A size alone is never a reason to refuse the first share: a tenant without a share may exceed
/// its part, and a request may exceed the whole when nothing is taken.
final class FairBudget: Sendable {
    /// The time a request waits for its share.
    static let waitMax: Duration = .seconds(5)
    /// The maximum number of requests of one tenant that wait at once.
    static let waitersPerTenantMax = 512

    private struct Waiter {
        let number: Int
        let tenant: TenantID?
        let count: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var taken = 0
        var takenBy: [TenantID: Int] = [:]
        var waiters: [Waiter] = []
        var lastNumber = 0
    }

    /// The name of the budget in answers.
    let name: SharedLimit
    private let max: Int
    private let perTenantMax: Int
    /// The part of a tenant beside which no other is there; nil for the usual one.
    private let alone: (max: Int, presence: TenantPresence)?
    private let waitMax: Duration
    private let state = Mutex(State())

    init(
        _ name: SharedLimit,
        max: Int,
        perTenantMax: Int,
        alone: (max: Int, presence: TenantPresence)? = nil,
        waitMax: Duration = FairBudget.waitMax
    ) {
        self.name = name
        self.max = max
        self.perTenantMax = perTenantMax
        self.alone = alone
        self.waitMax = waitMax
    }

    /// The amount that is taken now.
    var taken: Int { state.withLock { $0.taken } }

    /// The number of waiting requests.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Takes `count` if it is available now and nobody waits for it.
    ///
    /// What adds to a share passes those who wait: they wait for that share to be given back.
    func takeNow(
        _ count: Int,
        for tenant: TenantID?,
        addingToShare isAdding: Bool = false
    ) -> Bool {
        state.withLock { state in
            guard fits(count, tenant, state), isAdding || !isAwaited(state) else { return false }
            take(count, for: tenant, &state)
            return true
        }
    }

    /// Takes `count`, over the maximum if necessary, for what exists already and cannot be refused.
    func overdraw(_ count: Int, for tenant: TenantID?) {
        state.withLock { take(count, for: tenant, &$0) }
    }

    /// Takes `count` as soon as it is available.
    ///
    /// - Returns: false when too many of the tenant wait already, when the wait was too long, and
    ///   when the request was cancelled.
    func take(_ count: Int, for tenant: TenantID?) async -> Bool {
        if takeNow(count, for: tenant) { return true }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        // The timer belongs to no request's task: it must end the wait of a request that does
        // nothing else.
        let timer = Task { [waitMax] in
            try await Task.sleep(for: waitMax)
            leave(number)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isQueued = state.withLock { state in
                    let waiting = state.waiters.count { $0.tenant == tenant }
                    guard waiting < Self.waitersPerTenantMax, !Task.isCancelled else {
                        return false
                    }
                    state.waiters.append(
                        Waiter(
                            number: number,
                            tenant: tenant,
                            count: count,
                            continuation: continuation
                        )
                    )
                    return true
                }
                if isQueued { grant() } else { continuation.resume(returning: false) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// Gives back `count`.
    func giveBack(_ count: Int, of tenant: TenantID?) {
        state.withLock { state in
            state.taken -= count
            guard let tenant else { return }
            let left = state.takenBy[tenant, default: 0] - count
            state.takenBy[tenant] = left > 0 ? left : nil
        }
        grant()
    }

    private func leave(_ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters.firstIndex(where: { $0.number == number }) else {
                return nil
            }
            return state.waiters.remove(at: index)
        }
        guard let waiter else { return }
        waiter.continuation.resume(returning: false)
        // Those behind it may have waited for its turn only.
        grant()
    }

    /// Whether somebody waits for what is given back next, and not for its own part.
    private func isAwaited(_ state: State) -> Bool {
        state.waiters.contains { isWithinPart($0.count, $0.tenant, state) }
    }

    /// Serves waiting requests in their order.
    ///
    /// A request whose tenant has its part is skipped. At a request that only waits for others to
    /// give back, serving stops, so that small requests do not starve large ones.
    private func grant() {
        let served = state.withLock { state -> [Waiter] in
            var served: [Waiter] = []
            var left: [Waiter] = []
            var isStopped = false
            for waiter in state.waiters {
                if !isStopped, fits(waiter.count, waiter.tenant, state) {
                    take(waiter.count, for: waiter.tenant, &state)
                    served.append(waiter)
                } else {
                    isStopped = isStopped || isWithinPart(waiter.count, waiter.tenant, state)
                    left.append(waiter)
                }
            }
            state.waiters = left
            return served
        }
        for waiter in served { waiter.continuation.resume(returning: true) }
    }

    private func take(_ count: Int, for tenant: TenantID?, _ state: inout State) {
        state.taken += count
        if let tenant { state.takenBy[tenant, default: 0] += count }
    }

    private func fits(_ count: Int, _ tenant: TenantID?, _ state: State) -> Bool {
        (state.taken == 0 || count <= max - state.taken) && isWithinPart(count, tenant, state)
    }

    private func isWithinPart(_ count: Int, _ tenant: TenantID?, _ state: State) -> Bool {
        guard let tenant, let held = state.takenBy[tenant] else { return true }
        if count <= perTenantMax - held { return true }
        guard let alone, count <= alone.max - held else { return false }
        return alone.presence.isAlone(tenant)
    }
}

import DequeModule
import PollLoop
import Synchronization
import TransferModel

/// The requests of one size that are being worked on: after their last byte, before their answer,
/// and while they wait for nothing but the service and its database.
///
/// While another tenant is there and the processors are busy, a tenant has a few at once; the
/// others of its requests wait for their turn in their order. Otherwise each step of another
/// tenant's request would wait for a processor behind all that this one has running. Alone, a
/// tenant has as many as it sends.
final class RequestWork: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct Share {
        var inHand = 0
        var waiters = Deque<Waiter>()
        var isEmpty: Bool { inHand == 0 && waiters.isEmpty }
    }

    private struct State {
        var limit: WorkLimit
        var shares: [TenantID: Share] = [:]
    }

    private let presence: TenantPresence
    private let processors: @Sendable () -> ProcessorUse
    private let state: Mutex<State>

    init(
        limit: WorkLimit,
        beside presence: TenantPresence,
        processors: @escaping @Sendable () -> ProcessorUse = ProcessorUse.now
    ) {
        self.presence = presence
        self.processors = processors
        state = Mutex(State(limit: limit))
    }

    /// The requests of `tenant` that are being worked on; for tests.
    func inHand(of tenant: TenantID) -> Int {
        state.withLock { $0.shares[tenant]?.inHand ?? 0 }
    }

    /// The requests of `tenant` that wait for their turn; for tests.
    func waiting(of tenant: TenantID) -> Int {
        state.withLock { $0.shares[tenant]?.waiters.count ?? 0 }
    }

    /// Returns when a request of `tenant` may be worked on.
    ///
    /// The wait ends, because whatever is worked on ends; a connection has one request at a time,
    /// so that there are never more waiters than connections.
    func begin(of tenant: TenantID) async {
        observe(tenant)
        guard !beginNow(tenant) else { return }
        await withCheckedContinuation { continuation in
            serve(tenant, after: continuation)
        }
    }

    /// Takes note that a request of `tenant` is no longer worked on.
    func end(of tenant: TenantID) {
        let isAwaited = state.withLock { state in
            state.shares[tenant]?.inHand -= 1
            guard let share = state.shares[tenant], share.waiters.isEmpty else { return true }
            if share.isEmpty { state.shares[tenant] = nil }
            return false
        }
        if isAwaited { serve(tenant) }
    }

    /// Begins to work on a request of `tenant` if nobody of it waits and there is room.
    ///
    /// - Returns: whether it was begun.
    private func beginNow(_ tenant: TenantID) -> Bool {
        let isAlone = presence.isAlone(tenant)
        return state.withLock { state in
            let share = state.shares[tenant] ?? Share()
            guard share.waiters.isEmpty, isAlone || share.inHand < state.limit.value else {
                return false
            }
            state.shares[tenant, default: Share()].inHand += 1
            return true
        }
    }

    /// Notes that `tenant` is there, and looks at the processors if they may limit it.
    private func observe(_ tenant: TenantID) {
        let now = ContinuousClock.now
        presence.note(tenant, at: now)
        let isDue = state.withLock { state in
            (state.shares[tenant]?.inHand ?? 0) >= state.limit.min && state.limit.isDue(at: now)
        }
        guard isDue, !presence.isAlone(tenant, at: now) else { return }
        let use = processors()
        state.withLock { state in
            let inHand = state.shares[tenant]?.inHand ?? 0
            state.limit.adapt(to: use, inHand: inHand, at: now)
        }
    }

    /// Lets those of `tenant` begin for whom there is room, in the order in which they came.
    private func serve(_ tenant: TenantID, after newcomer: Waiter? = nil) {
        let isAlone = presence.isAlone(tenant)
        let served = state.withLock { state -> [Waiter] in
            var share = state.shares[tenant] ?? Share()
            if let newcomer { share.waiters.append(newcomer) }
            var served: [Waiter] = []
            while isAlone || share.inHand < state.limit.value, let next = share.waiters.popFirst() {
                share.inHand += 1
                served.append(next)
            }
            state.shares[tenant] = share.isEmpty ? nil : share
            return served
        }
        for waiter in served { waiter.resume() }
    }
}

import Synchronization
import TransferModel
import TransferStore

/// A division of slots among the subscriptions whose messages are sent again.
final class ReplaySlots: Sendable {
    /// The subscriptions that one tenant may have at it at once; an eighth more is for others.
    private static let slotsMax = 16
    /// The turns that are remembered; beyond it, only those of what is looked at.
    private static let rememberedMax = 10_000

    /// A time in which nothing is sent again to a subscription.
    private struct Pause {
        /// The setbacks in a row.
        var setbacks = 0
        var end: ContinuousClock.Instant
    }

    private struct State {
        var ledger = SlotLedger<TenantID>(slots: ReplaySlots.slotsMax)
        var running: Set<SubscriptionID> = []
        /// Whether a subscription found no slot since one was given back.
        var isAwaited = false
        /// The number of turns so far.
        var turnCount = 0
        /// The number of the last turn of each subscription.
        var lastTurns: [SubscriptionID: Int] = [:]
        /// The subscriptions whose last replay is to be sent once more.
        var pauses: [SubscriptionID: Pause] = [:]
    }

    private let state = Mutex(State())

    /// Whether any subscription may take a slot.
    var isAnyFree: Bool { state.withLock { $0.ledger.freeCount > 0 } }

    /// Returns the turns so that whoever had none for the longest time comes first.
    func inOrder(_ turns: [ReplayTurns.Turn]) -> [ReplayTurns.Turn] {
        state.withLock { state in
            // Those of other pages stay: otherwise the first of each page would come first again.
            if state.lastTurns.count > Self.rememberedMax {
                let known = state.running.union(turns.map(\.subscription))
                state.lastTurns = state.lastTurns.filter { known.contains($0.key) }
            }
            let numbered = turns.map { (turn: $0, last: state.lastTurns[$0.subscription] ?? 0) }
            return numbered.sorted { $0.last < $1.last }.map(\.turn)
        }
    }

    /// Takes a slot for a turn of a subscription.
    ///
    /// - Returns: false when it has one, is paused at `now`, or there is none for its tenant now.
    func take(
        for subscription: SubscriptionID,
        of tenant: TenantID,
        at now: ContinuousClock.Instant
    ) -> Bool {
        state.withLock { state in
            guard !state.running.contains(subscription) else { return false }
            if let pause = state.pauses[subscription], pause.end > now { return false }
            guard state.ledger.take(for: tenant) else {
                state.isAwaited = true
                return false
            }
            state.running.insert(subscription)
            state.turnCount += 1
            state.lastTurns[subscription] = state.turnCount
            return true
        }
    }

    /// Gives back the slot of a subscription.
    ///
    /// - Returns: whether another one may have found none.
    func giveBack(for subscription: SubscriptionID, of tenant: TenantID) -> Bool {
        state.withLock { state in
            let isAwaited = state.isAwaited || state.ledger.freeCount == 0
            state.isAwaited = false
            state.running.remove(subscription)
            state.ledger.giveBack(for: tenant)
            return isAwaited
        }
    }

    /// Counts a replay that is to be sent once more, and pauses its subscription.
    ///
    /// - Parameters:
    ///   - subscription: the subscription, which has a slot.
    ///   - now: the time.
    ///   - length: the length of the pause, by the number of such setbacks in a row.
    func pause(
        _ subscription: SubscriptionID,
        at now: ContinuousClock.Instant,
        for length: (Int) -> Duration
    ) {
        state.withLock { state in
            if state.pauses.count >= Self.rememberedMax {
                state.pauses = state.pauses.filter { $0.value.end > now }
            }
            let setbacks = (state.pauses[subscription]?.setbacks ?? 0) + 1
            state.pauses[subscription] = Pause(setbacks: setbacks, end: now + length(setbacks))
        }
    }

    /// Forgets the setbacks of a subscription, of which a replay is over.
    func forgetSetbacks(of subscription: SubscriptionID) {
        state.withLock { $0.pauses[subscription] = nil }
    }
}

import TransferModel

/// Decides which of the claimed pairs are delivered now.
///
/// A pair is one subscription's events of one session. A subscription gets few slots however many
/// of its sessions are due, so that a dead one never holds all. What is claimed beyond that waits
/// here for a slot of its subscription; what waits too long is dropped, and returns with the next
/// claim after its lease has run out. A pure value: time is an argument.
struct DeliverySlots<Claim> {
    /// What becomes of a claimed pair.
    enum Admission: Equatable, Sendable {
        /// Deliver it now and call ``ended(_:at:)`` when that is over.
        case start
        /// Kept until a slot is free.
        case wait
        /// Neither: leave it to its lease.
        case drop
    }

    private struct Waiting {
        let claim: Claim
        let expiresAt: ContinuousClock.Instant
    }

    private let bounds: DeliveryBounds
    private var running: [SubscriptionID: Int] = [:]
    private var waiting: [SubscriptionID: [Waiting]] = [:]
    private var waitingCount = 0
    /// Pairs being delivered.
    private(set) var runningCount = 0
    /// Whether nothing new is started any more.
    private(set) var isDraining = false

    init(bounds: DeliveryBounds) { self.bounds = bounds }

    /// How many pairs more may be claimed.
    var freeCount: Int { isDraining ? 0 : bounds.pairsMax - runningCount }

    /// Finds a place for a pair that has been claimed.
    ///
    /// - Parameters:
    ///   - claim: the pair.
    ///   - subscription: whose slots it needs.
    ///   - concurrency: how many the subscription has; nil for the bound of all.
    ///   - expiry: until when it may still be started.
    /// - Returns: what becomes of it.
    mutating func admit(
        _ claim: Claim,
        of subscription: SubscriptionID,
        concurrency: Int? = nil,
        until expiry: ContinuousClock.Instant
    ) -> Admission {
        guard !isDraining else { return .drop }
        let count = running[subscription, default: 0]
        if runningCount < bounds.pairsMax, count < concurrency ?? bounds.perSubscriptionMax {
            running[subscription] = count + 1
            runningCount += 1
            return .start
        }
        // Without a pair of its own that runs, nobody would hand it a slot.
        guard count > 0, waitingCount < bounds.waitingTotalMax,
            waiting[subscription, default: []].count < bounds.waitingMax
        else { return .drop }
        waiting[subscription, default: []].append(Waiting(claim: claim, expiresAt: expiry))
        waitingCount += 1
        return .wait
    }

    /// Takes note that a pair of `subscription` is no longer being delivered.
    ///
    /// - Parameters:
    ///   - subscription: whose slot is free.
    ///   - now: the time, by which what has waited too long is dropped.
    /// - Returns: the pair that takes over its slot, when one waits that may still be started.
    mutating func ended(
        _ subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) -> Claim? {
        while let next = popWaiting(of: subscription) {
            if next.expiresAt > now { return next.claim }
        }
        let count = running[subscription, default: 0] - 1
        precondition(count >= 0, "a pair that was not started has ended")
        running[subscription] = count == 0 ? nil : count
        runningCount -= 1
        return nil
    }

    /// Starts nothing from now on.
    ///
    /// - Returns: the pairs that waited and are to be given back.
    mutating func drain() -> [Claim] {
        isDraining = true
        defer {
            waiting = [:]
            waitingCount = 0
        }
        return waiting.values.flatMap { $0.map(\.claim) }
    }

    private mutating func popWaiting(of subscription: SubscriptionID) -> Waiting? {
        // At most `waitingMax` elements move.
        guard let next = waiting[subscription]?.first else { return nil }
        waiting[subscription]?.removeFirst()
        if waiting[subscription]?.isEmpty == true { waiting[subscription] = nil }
        waitingCount -= 1
        return next
    }
}

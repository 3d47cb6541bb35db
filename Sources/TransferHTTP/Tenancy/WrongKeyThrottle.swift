import Synchronization

/// A limit on how often wrong keys are looked up in the database, for one address and for all.
///
/// Each has a bucket of tokens: a look-up that finds no good key takes one, and they come back at a
/// steady rate.
final class WrongKeyThrottle: Sendable {
    static let addressesMax = 4096
    /// The wrong keys of one address: so many in a row, and then so many each second.
    static let burst = 20
    static let perSecond = 2
    /// The same for all addresses together.
    static let totalBurst = 200
    static let totalPerSecond = 20

    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant

        mutating func fill(_ perSecond: Int, upTo burst: Int, at now: ContinuousClock.Instant) {
            let more = (now - filledAt) / .seconds(1) * Double(perSecond)
            tokens = min(Double(burst), tokens + more)
            filledAt = now
        }
    }

    private struct State {
        var buckets: [PeerAddress: Bucket] = [:]
        var total: Bucket?
    }

    private let state = Mutex(State())

    /// Returns whether a key not known yet may be looked up for `address` now, and takes the
    /// tokens.
    func takeLookUp(for address: PeerAddress?, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            var total = state.total ?? Bucket(tokens: Double(Self.totalBurst), filledAt: now)
            total.fill(Self.totalPerSecond, upTo: Self.totalBurst, at: now)
            defer { state.total = total }
            guard total.tokens >= 1 else { return false }
            if let address {
                var bucket =
                    state.buckets[address] ?? Bucket(tokens: Double(Self.burst), filledAt: now)
                bucket.fill(Self.perSecond, upTo: Self.burst, at: now)
                guard bucket.tokens >= 1 else { return false }
                bucket.tokens -= 1
                makeRoom(&state, at: now)
                state.buckets[address] = bucket
            }
            total.tokens -= 1
            return true
        }
    }

    /// Returns the tokens of a look-up that has found a good key, or has failed.
    func giveBack(for address: PeerAddress?) {
        state.withLock { state in
            state.total?.tokens += 1
            if let address { state.buckets[address]?.tokens += 1 }
        }
    }

    /// Forgets addresses whose buckets are full again, and all addresses when that is not enough:
    /// the limit on all addresses still holds.
    private func makeRoom(_ state: inout State, at now: ContinuousClock.Instant) {
        guard state.buckets.count >= Self.addressesMax else { return }
        let time = Duration.seconds(Self.burst / Self.perSecond)
        state.buckets = state.buckets.filter { now - $0.value.filledAt < time }
        if state.buckets.count >= Self.addressesMax { state.buckets.removeAll() }
    }
}

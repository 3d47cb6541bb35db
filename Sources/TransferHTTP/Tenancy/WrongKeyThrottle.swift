import Synchronization

/// A limit on how often wrong keys are looked up in the database, for one address and for all.
///
/// Each has a bucket of tokens: a look-up is lent one, and keeps it if it finds no good key; those
/// come back at a steady rate.
final class WrongKeyThrottle: Sendable {
    static let addressesMax = 4096
    /// The wrong keys of one address: so many in a row, and then so many each second.
    static let burst = 20
    static let perSecond = 2
    /// The same for all addresses together.
    static let totalBurst = 200
    static let totalPerSecond = 20

    /// The answer to a look-up that would begin.
    enum Admission {
        /// It begins, and ``WrongKeyThrottle/endLookUp(for:isWrong:)`` follows.
        case taken
        /// It lacks tokens that look-ups under way may give back.
        case lent
        /// Wrong keys have used up the tokens.
        case usedUp
    }

    private struct Bucket {
        var tokens: Double
        /// The tokens that look-ups under way have.
        var lent = 0
        var filledAt: ContinuousClock.Instant

        mutating func fill(_ perSecond: Int, upTo burst: Int, at now: ContinuousClock.Instant) {
            let more = (now - filledAt) / .seconds(1) * Double(perSecond)
            tokens = min(Double(burst), tokens + more)
            filledAt = now
        }

        var admission: Admission {
            if tokens >= 1 { return .taken }
            return lent > 0 ? .lent : .usedUp
        }

        mutating func lend() {
            tokens -= 1
            lent += 1
        }

        mutating func endLoan(isWrong: Bool) {
            lent -= 1
            if !isWrong { tokens += 1 }
        }
    }

    private struct State {
        var buckets: [PeerAddress: Bucket] = [:]
        var total: Bucket?
    }

    private let state = Mutex(State())

    /// Returns whether a key not known yet may be looked up for `address` now, and lends the
    /// look-up its tokens if it may.
    func takeLookUp(for address: PeerAddress?, at now: ContinuousClock.Instant) -> Admission {
        state.withLock { state in
            var total = state.total ?? Bucket(tokens: Double(Self.totalBurst), filledAt: now)
            total.fill(Self.totalPerSecond, upTo: Self.totalBurst, at: now)
            defer { state.total = total }
            if let address {
                var bucket =
                    state.buckets[address] ?? Bucket(tokens: Double(Self.burst), filledAt: now)
                bucket.fill(Self.perSecond, upTo: Self.burst, at: now)
                guard bucket.admission == .taken else { return bucket.admission }
                guard total.admission == .taken else { return total.admission }
                bucket.lend()
                makeRoom(&state, at: now)
                state.buckets[address] = bucket
            }
            guard total.admission == .taken else { return total.admission }
            total.lend()
            return .taken
        }
    }

    /// Ends the loan of a look-up: its tokens come back unless it has found a wrong key.
    func endLookUp(for address: PeerAddress?, isWrong: Bool) {
        state.withLock { state in
            state.total?.endLoan(isWrong: isWrong)
            if let address { state.buckets[address]?.endLoan(isWrong: isWrong) }
        }
    }

    /// Forgets addresses whose buckets are full again, and all without look-ups under way when that
    /// is not enough: the limit on all addresses still holds.
    private func makeRoom(_ state: inout State, at now: ContinuousClock.Instant) {
        guard state.buckets.count >= Self.addressesMax else { return }
        let time = Duration.seconds(Self.burst / Self.perSecond)
        state.buckets = state.buckets.filter { $1.lent > 0 || now - $1.filledAt < time }
        if state.buckets.count >= Self.addressesMax {
            state.buckets = state.buckets.filter { $1.lent > 0 }
        }
    }
}

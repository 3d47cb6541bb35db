package import TransferModel

/// How many connections a host is given, from how it takes them; decides, and does nothing itself.
///
/// All that it may have to begin with; half as many after an error that says it is too much, one
/// more after each round of successes with all of them in use, and one less when that has brought
/// less: additive increase, multiplicative decrease (D.-M. Chiu, R. Jain, 1989).
package struct HostPace: Sendable {
    /// When and how far a host's connections are changed.
    package struct Settings: Sendable {
        /// A round is at least this long when throughput is compared.
        package var roundMin: Duration = .seconds(2)
        /// More connections that bring less than this part of what fewer brought are taken back.
        package var throughputKept = 0.8
        /// How long after that no more are tried.
        package var rest: Duration = .seconds(60)

        package init() {}
    }

    /// What an attempt says of its host.
    package enum Signal: Equatable, Sendable {
        /// It has answered as it should.
        case answered
        /// It says that it, or who is behind it, has too much to do: 429, 502, 503 or 504.
        case refused(status: Int)
        /// It did not answer, or not to the end.
        case failed(TransferFailure.Code)
        /// The attempt ended for a reason that says nothing of the host.
        case nothing

        /// Whether it may be that there are too many connections.
        package var isTrouble: Bool {
            switch self {
            case .refused, .failed: true
            case .answered, .nothing: false
            }
        }
    }

    /// A change, and why.
    package struct Decision: Equatable, Sendable {
        package let before: Int
        package let after: Int
        /// A sentence for operators.
        package let reason: String

        package init(before: Int, after: Int, reason: String) {
            self.before = before
            self.after = after
            self.reason = reason
        }
    }

    private let settings: Settings
    /// Connections that it is given now.
    package private(set) var limit: Int
    /// What somebody allows at most.
    private var max: Int
    /// Successes since the last change.
    private var successes = 0
    /// Attempts that were begun before the last decrease, and so say nothing of it.
    private var stale = 0
    private var round: Round?
    private var restsUntil: ContinuousClock.Instant?

    /// What came in while the limit was the same.
    private struct Round {
        let began: ContinuousClock.Instant
        var bytes: Int64 = 0
        /// Bytes a second with fewer connections, and how many these were.
        var fewer: (limit: Int, rate: Double)?
        var wasFull = true

        func rate(until now: ContinuousClock.Instant) -> Double {
            Double(bytes) / ((now - began) / .seconds(1))
        }
    }

    /// Begins with all that a host may have, or with what another worker has left it.
    package init(max: Int, limit: Int? = nil, _ settings: Settings = Settings()) {
        precondition(max > 0, "a host may have something")
        self.settings = settings
        self.max = max
        self.limit = Swift.max(1, min(limit ?? max, max))
    }

    /// Whether nothing has to be remembered of the host.
    package var isUntroubled: Bool { limit == max }

    /// Takes another bound at once.
    package mutating func setMax(_ max: Int) {
        guard max != self.max else { return }
        // A host that was given all it could have gets what it can have now.
        if limit == self.max || limit > max { limit = max }
        self.max = max
    }

    /// An attempt has ended after `bytes`, when the host had so many connections, its own included.
    ///
    /// - Returns: the change that follows, if one does.
    package mutating func note(
        _ signal: Signal,
        bytes: Int64,
        running: Int,
        at now: ContinuousClock.Instant
    ) -> Decision? {
        defer { if stale > 0 { stale -= 1 } }
        note(bytes: bytes, running: running, at: now)
        switch signal {
        case .nothing: return nil
        case .refused(let status): return decrease("it answered \(status)", running, now)
        case .failed(let code):
            return decrease("an attempt ended with \(code.rawValue)", running, now)
        case .answered:
            successes += 1
            return increase(running, now)
        }
    }

    private mutating func note(bytes: Int64, running: Int, at now: ContinuousClock.Instant) {
        if round == nil { round = Round(began: now) }
        round?.bytes += bytes
        if running < limit { round?.wasFull = false }
    }

    private mutating func decrease(
        _ why: String,
        _ running: Int,
        _ now: ContinuousClock.Instant
    ) -> Decision? {
        successes = 0
        guard stale == 0, limit > 1 else { return nil }
        // Those that run beside it have met the same.
        stale = running
        return change(to: Swift.max(1, limit / 2), "Halved, because \(why).", now, fewer: nil)
    }

    private mutating func increase(_ running: Int, _ now: ContinuousClock.Instant) -> Decision? {
        if let worse = takeBack(now) { return worse }
        guard stale == 0, limit < max, running >= limit, successes >= limit,
            restsUntil.map({ now >= $0 }) ?? true
        else { return nil }
        let count = successes
        let fewer = round.flatMap { round in
            round.wasFull && now - round.began >= settings.roundMin
                ? (limit: limit, rate: round.rate(until: now)) : nil
        }
        return change(
            to: limit + 1,
            "One more, because \(count) \(count == 1 ? "attempt" : "attempts") went well "
                + "with all connections in use.",
            now,
            fewer: fewer
        )
    }

    /// Goes back to fewer connections when more have brought less.
    private mutating func takeBack(_ now: ContinuousClock.Instant) -> Decision? {
        guard let round, round.wasFull, let fewer = round.fewer, fewer.limit < limit,
            now - round.began >= settings.roundMin
        else { return nil }
        let rate = round.rate(until: now)
        guard rate < fewer.rate * settings.throughputKept else {
            self.round?.fewer = nil
            return nil
        }
        restsUntil = now + settings.rest
        return change(
            to: fewer.limit,
            "Back to \(fewer.limit), because \(limit) brought \(Int64(rate)) bytes a second and "
                + "\(fewer.limit) brought \(Int64(fewer.rate)).",
            now,
            fewer: nil
        )
    }

    private mutating func change(
        to next: Int,
        _ reason: String,
        _ now: ContinuousClock.Instant,
        fewer: (limit: Int, rate: Double)?
    ) -> Decision {
        let decision = Decision(before: limit, after: next, reason: reason)
        limit = next
        successes = 0
        round = Round(began: now, fewer: fewer)
        return decision
    }
}

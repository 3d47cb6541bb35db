package import TransferModel

/// The number of connections a host is given, learnt from how it handles them; it only decides and
/// carries nothing out.
///
/// A host starts with all that it may have. An error that says the load is too high halves the
/// number, each round of successes with all connections in use adds one, and an added connection is
/// taken back when it has brought less: additive increase, multiplicative decrease (D.-M. Chiu, R.
/// Jain, 1989).
package struct HostPace: Sendable {
    /// The rules for changing a host's number of connections.
    package struct Settings: Sendable {
        /// The minimum length of a round whose throughput is compared.
        package var roundMin: Duration = .seconds(2)
        /// The share of the earlier throughput below which additional connections are taken back.
        package var throughputKept = 0.8
        /// The time after taking connections back for which no more are tried.
        package var rest: Duration = .seconds(60)

        /// Creates the default settings.
        package init() {}
    }

    /// The report of an attempt about its host.
    package enum Report: Equatable, Sendable {
        /// The host has answered as it should.
        case answered
        /// The host says that it, or a server behind it, has too much to do: 429, 502, 503 or 504.
        case refused(status: Int)
        /// The host did not answer, or not completely.
        case failed(TransferFailure.Code)
        /// The attempt ended for a reason that says nothing about the host.
        case nothing

        /// Whether there may be too many connections.
        package var isTrouble: Bool {
            switch self {
            case .refused, .failed: true
            case .answered, .nothing: false
            }
        }
    }

    /// A change of the number of connections, with its reason.
    package struct Decision: Equatable, Sendable {
        /// The number of connections before the change.
        package let before: Int
        /// The number of connections after the change.
        package let after: Int
        /// A sentence for operators that gives the reason.
        package let reason: String

        /// Creates a change with its reason.
        package init(before: Int, after: Int, reason: String) {
            self.before = before
            self.after = after
            self.reason = reason
        }
    }

    private let settings: Settings
    /// The number of connections that the host is given now.
    package private(set) var limit: Int
    /// The maximum number of connections allowed.
    private var max: Int
    /// The number of successes since the last change.
    private var successes = 0
    /// The number of attempts that started before the last decrease, and so say nothing about it.
    private var stale = 0
    private var round: Round?
    private var restsUntil: ContinuousClock.Instant?

    /// The results that came in while the limit stayed the same.
    private struct Round {
        let began: ContinuousClock.Instant
        var bytes: Int64 = 0
        /// The rate in bytes a second with fewer connections, and the number of these.
        var fewer: (limit: Int, rate: Double)?
        var wasFull = true

        func rate(until now: ContinuousClock.Instant) -> Double {
            Double(bytes) / ((now - began) / .seconds(1))
        }
    }

    /// Creates a pace that starts with all that a host may have, or with the limit another worker
    /// has left.
    package init(max: Int, limit: Int? = nil, _ settings: Settings = Settings()) {
        precondition(max > 0, "a host may have something")
        self.settings = settings
        self.max = max
        self.limit = Swift.max(1, min(limit ?? max, max))
    }

    /// Whether nothing about the host has to be remembered.
    package var isUntroubled: Bool { limit == max }

    /// Applies another maximum at once.
    package mutating func setMax(_ max: Int) {
        guard max != self.max else { return }
        // A host that was given all it could have now gets all it can have.
        if limit == self.max || limit > max { limit = max }
        self.max = max
    }

    /// Records that an attempt has ended after `bytes`, when the host had `running` connections,
    /// its own included.
    ///
    /// - Returns: the resulting change, if there is one.
    package mutating func note(
        _ report: Report,
        bytes: Int64,
        running: Int,
        at now: ContinuousClock.Instant
    ) -> Decision? {
        defer { if stale > 0 { stale -= 1 } }
        note(bytes: bytes, running: running, at: now)
        switch report {
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
        // The attempts running beside it have met the same trouble.
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

    /// Returns to fewer connections when more have brought less.
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

/// Measures whether a body moves too slowly, one period after the other.
///
/// A pure state machine: moved bytes and times go in, a verdict comes out. libcurl's own limit
/// (CURLOPT_LOW_SPEED_LIMIT(3)) is not used: it wakes each transfer every second, and it counts the
/// wait for the answer, and pauses that a rate demands.
struct SpeedWatch {
    typealias Instant = ContinuousClock.Instant

    private enum State {
        /// No body moves; ends with the first byte that may.
        case idle
        /// The bytes of a period are counted; ends with the body, or a pause.
        case measuring(since: Instant)
        /// A rate holds the body back, after that part of a period.
        case paused(after: Duration)
    }

    private let limit: CurlRequest.SpeedLimit?
    private var state = State.idle
    private var bytes: Int64 = 0

    /// Starts the watch before there is a body.
    init(limit: CurlRequest.SpeedLimit?) { self.limit = limit }

    /// Records that a body may move from now on, with which a period starts.
    mutating func begin(at now: Instant) { (state, bytes) = (.measuring(since: now), 0) }

    /// Records that the body has been moved.
    mutating func end() { state = .idle }

    /// Records moved bytes.
    mutating func move(_ count: Int64) { bytes += count }

    /// Records whether a rate holds the body back from now on.
    mutating func pause(_ isPaused: Bool, at now: Instant) {
        switch (state, isPaused) {
        case (.measuring(let since), true): state = .paused(after: now - since)
        case (.paused(let measured), false): state = .measuring(since: now - measured)
        case (.idle, _), (.measuring, false), (.paused, true): break
        }
    }

    /// Extends the period by a time in which nobody could see bytes.
    mutating func excuse(_ gap: Duration, at now: Instant) {
        if case .measuring(let since) = state { state = .measuring(since: min(now, since + gap)) }
    }

    /// Returns the earliest time at which a period could end; nil without a limit.
    func deadline(at now: Instant) -> Instant? {
        guard let limit else { return nil }
        return switch state {
        case .idle: now + limit.period
        case .measuring(let since): since + limit.period
        // No period ends during a pause, even if nothing is left of it.
        case .paused(let measured): now + max(limit.period - measured, Self.lookInterval)
        }
    }

    /// The least time between two looks during a pause, which may last for an hour.
    private static let lookInterval: Duration = .seconds(1)

    /// Returns whether a period has ended with too few bytes; otherwise the next one starts.
    mutating func isTooSlow(at now: Instant) -> Bool {
        guard let limit, case .measuring(let since) = state, since + limit.period <= now else {
            return false
        }
        guard Double(bytes) >= Double(limit.bytesPerSecond) * ((now - since) / .seconds(1)) else {
            return true
        }
        begin(at: now)
        return false
    }
}

/// Measures how long an origin takes to start its answer.
///
/// A pure state machine: events and their times go in, a deadline comes out.
struct FirstByteWatch {
    private enum State {
        /// No connection is ready yet; ends with the request.
        case connecting
        /// The request's body is being sent; ends when all of it has been given to the kernel.
        case sending
        /// The origin has the whole request; ends with the first line of its final answer.
        case waiting(since: ContinuousClock.Instant)
        /// The final answer has started; this state never ends.
        case answered
    }

    private let timeout: Duration?
    private var state = State.connecting
    /// The time when a connection was ready and the request started, if it did.
    private(set) var requestStart: ContinuousClock.Instant?
    /// The time when the origin was given the last byte of the request, if it was.
    private(set) var requestEnd: ContinuousClock.Instant?
    /// The time when the final answer started, if it did.
    private(set) var responseStart: ContinuousClock.Instant?

    /// Starts the watch before there is a connection.
    init(timeout: Duration?) { self.timeout = timeout }

    /// Records that a connection is ready and the request starts, perhaps for the second time.
    mutating func begin(at now: ContinuousClock.Instant, sendsBody: Bool) {
        state = sendsBody ? .sending : .waiting(since: now)
        (requestStart, responseStart) = (now, nil)
        requestEnd = sendsBody ? nil : now
    }

    /// Records that the last byte of the body was sent.
    mutating func bodySent(at now: ContinuousClock.Instant) {
        requestEnd = requestEnd ?? now
        if case .sending = state { state = .waiting(since: now) }
    }

    /// Records a line of the final answer, which may come before the whole body was sent.
    mutating func answered(at now: ContinuousClock.Instant) {
        state = .answered
        responseStart = responseStart ?? now
    }

    /// Returns when the wait would be too long; nil when that can no longer happen.
    ///
    /// While no wait has started, returns the earliest time at which one could be too long.
    func deadline(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let timeout else { return nil }
        return switch state {
        case .connecting, .sending: now + timeout
        case .waiting(let since): since + timeout
        case .answered: nil
        }
    }

    /// Extends the wait by a time in which nobody could see an answer.
    mutating func excuse(_ gap: Duration, at now: ContinuousClock.Instant) {
        if case .waiting(let since) = state { state = .waiting(since: min(now, since + gap)) }
    }

    /// Returns whether the wait has been too long.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        guard let timeout, case .waiting(let since) = state else { return false }
        return since + timeout <= now
    }
}

/// Measures how long an origin takes to begin its answer.
///
/// A pure machine: what happens and the time go in, a deadline comes out.
struct FirstByteWatch {
    private enum State {
        /// No connection is ready yet; ends with the request.
        case connecting
        /// The request's body is on its way; ends when all of it was given to the kernel.
        case sending
        /// The origin has everything; ends with the first line of its final answer.
        case waiting(since: ContinuousClock.Instant)
        /// The final answer has begun, which is for good.
        case answered
    }

    private let timeout: Duration?
    private var state = State.connecting
    /// When a connection was ready and the request began, if it did.
    private(set) var requestStart: ContinuousClock.Instant?
    /// When the origin was given the last byte of the request, if it was.
    private(set) var requestEnd: ContinuousClock.Instant?
    /// When the final answer began, if it did.
    private(set) var responseStart: ContinuousClock.Instant?

    /// Starts before the connection.
    init(timeout: Duration?) { self.timeout = timeout }

    /// A connection is ready and the request begins, perhaps for the second time.
    mutating func begin(at now: ContinuousClock.Instant, sendsBody: Bool) {
        state = sendsBody ? .sending : .waiting(since: now)
        (requestStart, responseStart) = (now, nil)
        requestEnd = sendsBody ? nil : now
    }

    /// The last byte of the body was sent.
    mutating func bodySent(at now: ContinuousClock.Instant) {
        requestEnd = requestEnd ?? now
        if case .sending = state { state = .waiting(since: now) }
    }

    /// A line of the final answer has come, perhaps before all of the body was sent.
    mutating func answered(at now: ContinuousClock.Instant) {
        state = .answered
        responseStart = responseStart ?? now
    }

    /// When the wait would be too long, or the earliest time at which that can be if nothing
    /// waits yet; nil when that cannot be any more.
    func deadline(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let timeout else { return nil }
        return switch state {
        case .connecting, .sending: now + timeout
        case .waiting(let since): since + timeout
        case .answered: nil
        }
    }

    /// Takes a time out of the wait in which nobody could see an answer.
    mutating func excuse(_ gap: Duration, at now: ContinuousClock.Instant) {
        if case .waiting(let since) = state { state = .waiting(since: min(now, since + gap)) }
    }

    /// Whether the wait has been too long.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        guard let timeout, case .waiting(let since) = state else { return false }
        return since + timeout <= now
    }
}

/// The pace at which a client sends a body: only the time counts in which it is asked for bytes.
struct BodyPace {
    /// The time since which the client is asked for bytes; nil while it is not.
    private var asksSince: ContinuousClock.Instant?
    /// The bytes received of the current body, with their framing.
    private(set) var byteCount = 0
    /// The time spent waiting for them.
    private var asked = Duration.zero

    /// Notes that the client is asked for bytes, as it may be already.
    mutating func ask(at now: ContinuousClock.Instant) {
        if asksSince == nil { asksSince = now }
    }

    /// Notes that bytes have come, or that none will.
    ///
    /// - Returns: whether the client was asked for them.
    @discardableResult
    mutating func endAsking(isBody: Bool, at now: ContinuousClock.Instant) -> Bool {
        guard let since = asksSince else { return false }
        if isBody { asked += now - since }
        asksSince = nil
        return true
    }

    /// Notes that the next body begins.
    ///
    /// Its head may have come with the request before, and the client been asked for more while
    /// that was answered: this time is not the body's.
    mutating func headRead(at now: ContinuousClock.Instant) {
        byteCount = 0
        asked = .zero
        if asksSince != nil { asksSince = now }
    }

    /// Adds bytes of the current body.
    mutating func add(_ count: Int) { byteCount += count }

    /// Returns the time at which the body has come too slowly; nil while nobody asks for it.
    func deadline(_ bounds: ConnectionBounds) -> ContinuousClock.Instant? {
        guard let asksSince else { return nil }
        return asksSince + bounds.bodyGrace
            + .seconds(1) * byteCount / max(1, bounds.bodyBytesPerSecondMin) - asked
    }
}

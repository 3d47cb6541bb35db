import TransferModel

/// A claim as its holder knows it, further on than when it was made.
struct HeldClaim: Sendable {
    let claim: DeliveryClaim
    /// The last event that needs no more delivery.
    private(set) var cursor: Int64
    /// Tries so far of the next message.
    private(set) var tries: Int
    /// Until when another try may begin.
    private(set) var expiresAt: ContinuousClock.Instant

    /// - Parameters:
    ///   - claim: as the store gave it.
    ///   - expiresAt: counted from before the store was asked, so that the lease ends later.
    init(_ claim: DeliveryClaim, until expiresAt: ContinuousClock.Instant) {
        self.claim = claim
        self.expiresAt = expiresAt
        cursor = claim.acknowledgedSequence
        tries = claim.attempt
    }

    /// Whether the lease still covers a try that begins at `now`.
    func isTrusted(at now: ContinuousClock.Instant) -> Bool { now < expiresAt }

    /// Whether the subscription asks for events of this kind.
    func wants(_ kind: SessionEvent.Kind) -> Bool {
        claim.filter?.contains(kind) ?? kind.isSentUnasked
    }

    /// Whether the next message was taken with 202 as often as a message is tried at all, and never
    /// acknowledged.
    func isUnacknowledged(after waits: Int) -> Bool {
        claim.awaitsAck && cursor == claim.acknowledgedSequence && tries > waits
    }

    /// Takes note of a delivery that the store has recorded, which renews the lease.
    mutating func advance(to sequence: Int64, until expiresAt: ContinuousClock.Instant) {
        cursor = sequence
        tries = 0
        self.expiresAt = expiresAt
    }
}

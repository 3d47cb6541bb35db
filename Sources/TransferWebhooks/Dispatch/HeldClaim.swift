import Curl
import TransferModel

/// A claim as its holder knows it, further on than when it was made.
struct HeldClaim: Sendable {
    let claim: DeliveryClaim
    /// Where the receiver is; nil for an address that cannot be read.
    let host: String?
    /// The last event that needs no more delivery.
    private(set) var cursor: Int64
    /// As far as the store knows of the cursor.
    private(set) var recordedCursor: Int64
    /// The last message that was taken and of which the store does not know.
    private(set) var unrecorded: SentMessage?
    /// Tries so far of the next message.
    private(set) var tries: Int
    /// Until when another try may begin.
    private(set) var expiresAt: ContinuousClock.Instant
    private var recordedAt: ContinuousClock.Instant

    /// - Parameters:
    ///   - claim: as the store gave it.
    ///   - expiresAt: counted from before the store was asked, so that the lease ends later.
    ///   - now: the time.
    init(
        _ claim: DeliveryClaim,
        until expiresAt: ContinuousClock.Instant,
        at now: ContinuousClock.Instant = .now
    ) {
        self.claim = claim
        host = try? CurlURL(claim.endpoint.url).host
        self.expiresAt = expiresAt
        cursor = claim.acknowledgedSequence
        recordedCursor = cursor
        tries = claim.attempt
        recordedAt = now
    }

    /// Whether the lease still covers a try that begins at `now`.
    func isTrusted(at now: ContinuousClock.Instant) -> Bool { now < expiresAt }

    /// The last event of the next message, if that is a batch that was tried before.
    var batchThrough: Int64? { claim.batchThrough.flatMap { tries > 0 && $0 > cursor ? $0 : nil } }

    /// Whether the subscription asks for that event.
    func wants(_ event: SessionEvent) -> Bool {
        event.isInScope(of: claim.subscription, isScoped: claim.isScoped)
            && (claim.filter?.contains(event.kind) ?? event.kind.isSentUnasked)
    }

    /// Whether the next message was taken with 202 as often as a message is tried at all, and never
    /// acknowledged.
    func isUnacknowledged(after waits: Int) -> Bool {
        claim.awaitsAck && cursor == claim.acknowledgedSequence && tries > waits
    }

    /// Takes note of a message that was taken.
    ///
    /// - Returns: whether that is to be recorded now: not each message of a receiver that is quick,
    ///   but what was tried before, and so is logged.
    mutating func took(
        _ sequence: Int64,
        _ sent: SentMessage,
        at now: ContinuousClock.Instant,
        recordInterval: Duration
    ) -> Bool {
        cursor = sequence
        unrecorded = sent
        return tries > 0 || now - recordedAt >= recordInterval
    }

    /// Takes note that events up to `sequence` are not asked for.
    mutating func passed(_ sequence: Int64) { cursor = max(cursor, sequence) }

    /// Takes note that the store knows of the cursor, which renewed the lease.
    mutating func recorded(
        until expiresAt: ContinuousClock.Instant,
        at now: ContinuousClock.Instant
    ) {
        recordedCursor = cursor
        unrecorded = nil
        tries = 0
        recordedAt = now
        self.expiresAt = expiresAt
    }
}

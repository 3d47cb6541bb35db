import Curl
import TransferModel

/// A claim with its holder's progress since it was made.
struct HeldDelivery: Sendable {
    let claim: DeliveryClaim
    /// The receiver's host; nil for an address that cannot be read.
    let host: String?
    /// The last event that needs no more delivery.
    private(set) var cursor: Int64
    /// The cursor that the store knows of.
    private(set) var recordedCursor: Int64
    /// The last event that needs no more delivery whatever the subscription asks for by now: each
    /// before it was taken, or was not asked for when the store was asked after it was read.
    private(set) var certainCursor: Int64
    /// The last event that had been read when the store last said that the subscription is as it
    /// was claimed.
    private var passableThrough: Int64
    /// The last message that was taken and is unknown to the store.
    private(set) var unrecorded: SentMessage?
    /// Whether that message was tried before, and so is logged.
    private(set) var isLogged = false
    /// The number of tries so far of the message that was tried last, if it is yet to be taken.
    private var tries: Int
    /// The message that was tried last, if it is yet to be taken.
    private var tried: TriedMessage?
    /// The time until which another try may start.
    private(set) var expiresAt: ContinuousClock.Instant
    private var recordedAt: ContinuousClock.Instant
    /// Whether the subscription was as it was claimed when the store was last asked.
    private(set) var isCurrent = true
    /// The time before the store was last asked.
    private(set) var askedAt: ContinuousClock.Instant
    /// When it had answered.
    private var answeredAt: ContinuousClock.Instant

    /// - Parameters:
    ///   - claim: as the store gave it.
    ///   - expiresAt: counted from before the store was asked, so that the lease ends later.
    ///   - askedAt: the time before the store was asked; nil for now.
    ///   - now: the time.
    init(
        _ claim: DeliveryClaim,
        until expiresAt: ContinuousClock.Instant,
        askedAt: ContinuousClock.Instant? = nil,
        at now: ContinuousClock.Instant = .now
    ) {
        self.claim = claim
        host = claim.host
        self.expiresAt = expiresAt
        cursor = claim.acknowledgedSequence
        recordedCursor = cursor
        certainCursor = cursor
        passableThrough = cursor
        tries = claim.attempt
        tried = claim.tried
        recordedAt = now
        self.askedAt = askedAt ?? now
        answeredAt = now
    }

    /// Returns whether the lease still covers a try that starts at `now`.
    func isTrusted(at now: ContinuousClock.Instant) -> Bool { now < expiresAt }

    /// Returns whether the subscription may have changed meanwhile, as while the pair waited for a
    /// slot or for the rate limit.
    func mustAsk(at now: ContinuousClock.Instant, recordInterval: Duration) -> Bool {
        now - answeredAt >= recordInterval
    }

    /// Whether the next message was tried before, unless the subscription asks for other events
    /// since then.
    var isRetry: Bool { tried != nil }

    /// The last event of the next message, if that is a batch that was tried before; else nil.
    var batchThrough: Int64? {
        guard let tried, tried.batch != nil, tried.sequence > cursor else { return nil }
        return tried.sequence
    }

    /// Returns the number of tries of a message so far.
    func tries(of message: MessageName) -> Int { tried == message.tried ? tries : 0 }

    /// Returns whether the subscription asks for that event.
    func wants(_ event: SessionEvent) -> Bool {
        event.isInScope(of: claim.subscription, isScoped: claim.isScoped)
            && claim.wants(event.kind)
    }

    /// Returns whether the next message was answered with 202 as often as a message is tried at
    /// all, and never acknowledged.
    func isUnacknowledged(_ message: MessageName, after waits: Int) -> Bool {
        claim.awaitsAck && cursor == claim.acknowledgedSequence && tries(of: message) > waits
    }

    /// Records a message that was taken.
    ///
    /// - Returns: whether the store is to be told now: not of each message of a quick receiver, but
    ///   of one that was tried before, and so is logged.
    mutating func took(
        _ message: MessageName,
        _ sent: SentMessage,
        at now: ContinuousClock.Instant,
        recordInterval: Duration
    ) -> Bool {
        let isNext = certainCursor == cursor && message.follows(cursor)
        cursor = message.sequence
        if isNext || cursor <= passableThrough { certainCursor = cursor }
        unrecorded = sent
        isLogged = tried == message.tried
        return isLogged || now - recordedAt >= recordInterval
    }

    /// Records that events up to `sequence` are not asked for.
    mutating func passed(_ sequence: Int64) {
        cursor = max(cursor, sequence)
        if cursor <= passableThrough { certainCursor = cursor }
    }

    /// Records that the store knows the cursor, which renewed the lease.
    mutating func recorded(
        until expiresAt: ContinuousClock.Instant,
        at now: ContinuousClock.Instant
    ) {
        recordedCursor = cursor
        unrecorded = nil
        isLogged = false
        if let last = tried?.sequence, last <= cursor {
            tries = 0
            tried = nil
        }
        recordedAt = now
        self.expiresAt = expiresAt
    }

    /// Records whether the store says that the subscription is as it was claimed.
    ///
    /// - Parameters:
    ///   - isCurrent: the answer.
    ///   - position: the last event that had been read then; nil for none after the cursor.
    ///   - askedAt: the time before the store was asked; nil for now.
    ///   - now: the time.
    mutating func asked(
        isCurrent: Bool,
        havingRead position: Int64? = nil,
        since askedAt: ContinuousClock.Instant? = nil,
        at now: ContinuousClock.Instant
    ) {
        self.isCurrent = isCurrent
        if isCurrent {
            certainCursor = cursor
            passableThrough = max(passableThrough, position ?? cursor)
        }
        self.askedAt = askedAt ?? now
        answeredAt = now
    }
}

extension DeliveryClaim {
    /// The receiver's host; nil for an address that cannot be read.
    var host: String? { try? CurlURL(endpoint.url).host }
}

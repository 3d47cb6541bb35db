/// The turn of a pair in a slot, after which it gives way to those that wait.
///
/// A session may have events for hours, so that a slot is not kept until none is left. A pure
/// value: time is an argument.
struct DeliveryTurn<Claim> {
    private let durationMax: Duration
    private let messagesMax: Int
    private var startedAt: ContinuousClock.Instant
    private var count = 0
    /// Whether the pair is to be given back although it has further events.
    private(set) var isGivenUp = false
    /// The pair that has the slot from now on; nil when the slot is still this pair's.
    private(set) var successor: Claim?

    init(_ bounds: DeliveryBounds, at now: ContinuousClock.Instant) {
        durationMax = bounds.turnMax
        messagesMax = bounds.turnMessagesMax
        startedAt = now
    }

    /// Records a message, or events that are not asked for.
    mutating func advance() { count += 1 }

    /// Returns whether others that wait for the slot may have it: not before the pair has advanced.
    func isOver(at now: ContinuousClock.Instant) -> Bool {
        count > 0 && (count >= messagesMax || now - startedAt >= durationMax)
    }

    /// Begins again, because nobody waits for the slot.
    mutating func restart(at now: ContinuousClock.Instant) { (startedAt, count) = (now, 0) }

    /// Ends, and is not begun again.
    ///
    /// - Parameter successor: the pair that has the slot; nil when it is yet to be given back.
    mutating func giveUp(to successor: Claim?) {
        isGivenUp = true
        self.successor = successor
    }
}

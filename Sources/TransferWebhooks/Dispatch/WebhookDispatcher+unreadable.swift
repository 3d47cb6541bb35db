import TransferModel
import TransferStore

/// Events that this release cannot read, such as those of a later release.
extension WebhookDispatcher {
    /// The number of waits before an event that cannot be read is given up: half an hour, in which
    /// another instance may read it.
    static let unreadableWaitsMax = 3

    /// Passes over the next event of a pair, which cannot be read, if the subscription does not ask
    /// for it; or else counts a failed try of its message, with which the claim ends.
    ///
    /// - Returns: false when the claim has ended.
    func mayPass(_ place: EventPlace, _ held: inout DeliveryCursor) async -> Bool {
        if let kind = place.kind, !held.claim.wants(kind) {
            held.passed(place.sequence)
            return true
        }
        guard await settle(&held) else { return false }
        sender.counters.countUnreadable(1)
        await fail(
            held,
            MessageName(id: place.id, sequence: place.sequence, batch: nil),
            .unreadable,
            .notSent
        )
        return false
    }
}

extension DeliveryClaim {
    /// Returns whether the subscription asks for events of `kind`.
    func wants(_ kind: SessionEvent.Kind) -> Bool { filter?.contains(kind) ?? kind.isSentUnasked }
}

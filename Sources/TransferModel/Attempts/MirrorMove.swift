/// A task's move to another of its URLs, or its next round with the same one.
package struct MirrorMove: Equatable, Sendable {
    /// What the move waits for.
    package enum Wait: Equatable, Sendable {
        /// The next attempt begins as soon as there is a slot, and this one does not count.
        case nothing
        /// The next round begins after the delay.
        case retry(Duration)
        /// No host could be reached; the next round begins after the delay or as soon as the host
        /// is reached, and this attempt does not count.
        case connectivity(Duration)
    }

    package let place: MirrorPlace
    /// The host at that place.
    package let host: HostKey
    package let wait: Wait

    package init(place: MirrorPlace, host: HostKey, wait: Wait) {
        self.place = place
        self.host = host
        self.wait = wait
    }
}

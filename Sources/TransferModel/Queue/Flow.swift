/// The queue of one session at one host: its tasks there run in the order of their priority and
/// age.
package struct Flow: Hashable, Sendable {
    package let lane: Lane
    package let session: SessionID

    package init(lane: Lane, session: SessionID) {
        self.lane = lane
        self.session = session
    }
}

/// The queue of one session at one host, in which tasks run in the order of priority and age.
package struct Flow: Hashable, Sendable {
    package let lane: Lane
    package let session: SessionID

    package init(lane: Lane, session: SessionID) {
        self.lane = lane
        self.session = session
    }
}

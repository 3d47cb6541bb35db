/// The queue of one session at one host, in which tasks run in the order of priority and age.
package struct Flow: Hashable, Sendable {
    package let hostKey: HostKey
    package let session: SessionID

    package init(hostKey: HostKey, session: SessionID) {
        self.hostKey = hostKey
        self.session = session
    }
}

import Synchronization

/// Whether a key has been found to be no longer good; never becomes good again.
final class KeyEnd: Sendable {
    private let flag = Atomic(false)

    var hasHappened: Bool { flag.load(ordering: .acquiring) }

    func happen() { flag.store(true, ordering: .releasing) }
}

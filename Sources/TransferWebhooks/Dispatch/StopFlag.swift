import Synchronization

/// A flag that says to several loops that their service is stopping.
final class StopFlag: Sendable {
    private let flag = Atomic(false)

    /// Whether the service is stopping.
    var isSet: Bool { flag.load(ordering: .acquiring) }

    /// Sets the flag for ever.
    func set() { flag.store(true, ordering: .releasing) }
}

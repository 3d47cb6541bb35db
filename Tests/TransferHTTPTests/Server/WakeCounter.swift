import Synchronization

/// A counter of how often the API told its worker that there is something to do.
final class WakeCounter: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }

    func count() { number.withLock { $0 += 1 } }
}

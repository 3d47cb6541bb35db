import Synchronization
import TransferWire

/// How many bytes of requests' bodies an instance holds at once; those of uploads go to the disk as
/// they come, and do not count.
final class BodyBudget: Sendable {
    private let bytesMax: Int
    private let byteCount = Mutex(0)

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    fileprivate func take(_ count: Int) -> Bool {
        byteCount.withLock { sum in
            guard count <= bytesMax - sum else { return false }
            sum += count
            return true
        }
    }

    fileprivate func giveBack(_ count: Int) { byteCount.withLock { $0 -= count } }
}

/// What one request holds of the budget, given back when nobody holds the share any more.
final class BodyShare: Sendable {
    /// That of the request which is being handled.
    @TaskLocal static var current: BodyShare?

    private let budget: BodyBudget
    private let byteCount = Mutex(0)

    init(of budget: BodyBudget) { self.budget = budget }

    /// - Throws: ``Problem`` when the instance holds as many bytes as it may.
    func take(_ count: Int) throws(Problem) {
        guard budget.take(count) else {
            throw Problem(.unavailable, "The instance reads as many bodies as it can hold.")
        }
        byteCount.withLock { $0 += count }
    }

    /// Gives back what was taken, when none of those bytes is needed any more.
    func empty() {
        let count = byteCount.withLock { sum in
            defer { sum = 0 }
            return sum
        }
        budget.giveBack(count)
    }

    deinit { empty() }
}

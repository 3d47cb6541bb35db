import Synchronization
import TransferModel

/// The fences of claims whose answer did not arrive: the database may have assigned tasks under
/// them, but no request was ever sent for these.
final class UnansweredClaims: Sendable {
    /// The maximum number of claims remembered; older ones are forgotten.
    private static let countMax = 1000

    private let claims = Mutex<[Range<Int64>]>([])

    /// Records that a claim under the first `count` fences was not answered.
    func note(_ fences: WorkerIdentity.Reservation, count: Int) {
        let first = fences.first.rawValue
        claims.withLock { claims in
            if claims.count == Self.countMax { claims.removeFirst() }
            claims.append(first..<first + Int64(count))
        }
    }

    /// Whether an attempt belongs to such a claim.
    func contains(_ fence: Fence) -> Bool {
        claims.withLock { claims in claims.contains { $0.contains(fence.rawValue) } }
    }
}

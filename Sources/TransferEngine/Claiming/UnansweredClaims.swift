import Synchronization
import TransferModel

/// The fences of claims whose answer did not arrive: the database may have given tasks under them, and
/// nothing of these was ever sent.
final class UnansweredClaims: Sendable {
    /// How many claims are known; of those before, it is not.
    private static let countMax = 1000

    private let claims = Mutex<[Range<Int64>]>([])

    /// A claim under so many fences was not answered.
    func note(_ fences: WorkerIdentity.Reservation, count: Int) {
        let first = fences.first.rawValue
        claims.withLock { claims in
            if claims.count == Self.countMax { claims.removeFirst() }
            claims.append(first..<first + Int64(count))
        }
    }

    /// Whether an attempt is of such a claim.
    func contains(_ fence: Fence) -> Bool {
        claims.withLock { claims in claims.contains { $0.contains(fence.rawValue) } }
    }
}

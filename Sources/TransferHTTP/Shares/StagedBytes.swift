import Synchronization
import TransferContainer
import TransferModel

/// The limit on the disk space for bodies that a tenant's clients have sent: three times what is
/// free, so that newcomers find room, and three quarters of the disk for a tenant that is alone.
///
/// No tenant can have as much before the disk is three quarters full; only then are a tenant's
/// bytes counted. Every call blocks on the disk.
final class StagedBytes: Sendable {
    private struct Count {
        var bytes: Int64
        let until: ContinuousClock.Instant
    }

    /// The number of bytes written between two checks.
    static let step: Int64 = 4 << 20
    private static let ageFactor = 20

    private let container: Container
    /// The maximum number of tenants whose count is kept.
    private let countsMax: Int
    /// The time for which a count holds, longer when counting took long.
    private let age: Duration
    private let counts = Mutex<[TenantID: Count]>([:])

    init(in container: Container, countsMax: Int = 1000, age: Duration = .seconds(2)) {
        self.container = container
        self.countsMax = countsMax
        self.age = age
    }

    /// What is in the way of further bytes.
    enum Obstacle {
        /// The tenant's bodies take their part.
        case tenantsPart
        /// There is too little space, whoever has taken it.
        case fullDisk
    }

    /// Returns what keeps `more` bytes from being added to `body`; nil when nothing does.
    func obstacle(
        to more: Int64,
        in body: StagedBody,
        of tenant: TenantID
    ) throws(StorageError) -> Obstacle? {
        let space = try body.space()
        if space.mayTake(more) { return nil }
        return space.obstacle(to: more, own: try count(of: tenant))
    }

    /// Adds the bytes written since the last check; less than zero are those that were discarded.
    func added(_ count: Int64, of tenant: TenantID) {
        counts.withLock { $0[tenant]?.bytes += count }
    }

    private func count(of tenant: TenantID) throws(StorageError) -> Int64 {
        let started = ContinuousClock.now
        let known = counts.withLock { $0[tenant] }
        if let known, known.until > started { return known.bytes }
        let bytes = try container.bytes(beneath: "\(tenant)/\(ResultLocation.bodyFolder)")
        let took = ContinuousClock.now - started
        counts.withLock { counts in
            if counts.count >= countsMax {
                counts = counts.filter { $0.value.until > started }
            }
            guard counts.count < countsMax else { return }
            counts[tenant] = Count(
                bytes: bytes,
                until: .now + max(age, took * Self.ageFactor)
            )
        }
        return bytes
    }
}

extension FileSystemSpace {
    /// Returns what keeps a tenant that has `own` bytes from adding `more`; nil when nothing does.
    func obstacle(to more: Int64, own: Int64) -> StagedBytes.Obstacle? {
        if mayTake(more, own: own) { return nil }
        // Where what the tenant can end makes no room, it would wait for others in vain.
        let most = FileSystemSpace(free: free + own, total: total)
        return most.mayTake(more, own: 0) ? .tenantsPart : .fullDisk
    }

    /// Returns whether `more` may be added to the bytes `own` of a tenant; nil counts all bytes as
    /// its own.
    func mayTake(_ more: Int64, own: Int64? = nil) -> Bool {
        let left = free - more
        return left >= 0 && ((own ?? (total - free)) + more) / 3 <= left
    }
}

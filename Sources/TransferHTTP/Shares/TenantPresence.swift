import Synchronization
import TransferModel

/// Which tenants are there: whoever had a request not long ago.
final class TenantPresence: Sendable {
    /// The time for which a tenant is there after its latest request.
    static let duration: Duration = .seconds(1)

    private struct Visit {
        let tenant: TenantID
        let at: ContinuousClock.Instant
    }

    /// The latest request, and the latest one of any other tenant.
    private let visits = Mutex<(latest: Visit?, other: Visit?)>((nil, nil))

    func note(_ tenant: TenantID, at now: ContinuousClock.Instant = .now) {
        visits.withLock { visits in
            if visits.latest?.tenant != tenant { visits.other = visits.latest }
            visits.latest = Visit(tenant: tenant, at: now)
        }
    }

    /// Returns whether nobody but `tenant` is there.
    func isAlone(_ tenant: TenantID, at now: ContinuousClock.Instant = .now) -> Bool {
        let other = visits.withLock { $0.latest?.tenant == tenant ? $0.other : $0.latest }
        return other.map { now - $0.at > Self.duration } ?? true
    }
}

import Synchronization

/// Which tenants are there: whoever had a request not long ago, or few tasks that began.
package final class TenantPresence: Sendable {
    /// The time for which a tenant is there after its latest visit.
    package static let duration: Duration = .seconds(1)
    /// The number of tenants that are remembered, the latest ones.
    static let visitsMax = 32

    private struct Visit {
        let tenant: TenantID
        let at: ContinuousClock.Instant
    }

    /// The latest visit of each tenant, the newest first.
    private let visits = Mutex<[Visit]>([])

    /// The number of tenants that are remembered now; for tests.
    var visitCount: Int { visits.withLock(\.count) }

    package init() {}

    /// Takes note that a tenant is there.
    package func note(_ tenant: TenantID, at now: ContinuousClock.Instant = .now) {
        visits.withLock { visits in
            if let index = visits.firstIndex(where: { $0.tenant == tenant }) {
                visits.remove(at: index)
            } else if visits.count == Self.visitsMax {
                visits.removeLast()
            }
            visits.insert(Visit(tenant: tenant, at: now), at: 0)
        }
    }

    /// Returns whether nobody but `tenant` and `others` is there, as far as is remembered.
    package func isAlone(
        _ tenant: TenantID,
        beside others: Set<TenantID> = [],
        at now: ContinuousClock.Instant = .now
    ) -> Bool {
        visits.withLock { visits in
            !visits.contains { visit in
                visit.tenant != tenant && !others.contains(visit.tenant)
                    && now - visit.at <= Self.duration
            }
        }
    }
}

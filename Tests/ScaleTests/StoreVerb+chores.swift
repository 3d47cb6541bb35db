import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    /// The verbs that every instance performs again and again.
    static let chores: [StoreVerb] = [
        StoreVerb("foldMoves", pages: 1000) { stores, world in
            _ = try await stores.control.cancelTask(tenant: world.tenant, id: world.large(.queued))
            return try await 10 * stores.counts.foldMoves()
        },
        StoreVerb("extendFeeds") { stores, world in
            _ = try await stores.control.cancelTask(tenant: world.tenant, id: world.large(.queued))
            return try await stores.events.extendFeeds(of: [world.tenant]).count
        },
        StoreVerb("extendFeeds(without news)") { stores, world in
            try await stores.events.extendFeeds(of: [world.tenant]).count
        },
        StoreVerb("sessionsToExpire", pages: 10_000) { stores, _ in
            try await stores.retention.sessionsToExpire(after: nil).sessions.count
        },
        // Each subscription of the tenant is examined.
        StoreVerb("tasksToExpire", pages: 60_000) { stores, world in
            try await stores.retention.tasksToExpire(
                of: world.session(1),
                after: nil,
                holdMax: .seconds(24 * 3600)
            ).remains.count
        },
        StoreVerb("expire") { stores, world in
            try await stores.retention.expire((0..<page).map(world.kept))
            return 2 * page
        },
        // One batch has a thousand tasks.
        StoreVerb("pruneExpiredTasks", pages: 1000) { stores, _ in
            try await stores.retention.pruneExpiredTasks(after: nil).removed
        },
        // All tasks with resume data are examined.
        StoreVerb("expireResumeData", pages: 100_000) { stores, _ in
            try await stores.retention.expireResumeData()
        },
        StoreVerb("pruneClientStringChanges", pages: 40_000) { stores, _ in
            try await stores.retention.pruneClientStringChanges(after: nil).removed
        },
        StoreVerb("pruneDeliveryLog", pages: 40_000) { stores, _ in
            try await stores.retention.pruneDeliveryLog(olderThan: .zero, after: nil).removed
        },
        StoreVerb("pruneIdempotencyKeys") { stores, _ in
            try await stores.idempotency.pruneIdempotencyKeys()
        },
        StoreVerb("pruneHosts", pages: 3000) { stores, _ in try await stores.hosts.pruneHosts() },
        StoreVerb("pruneDefaultPartition") { stores, _ in
            try await stores.partitions.pruneDefaultPartition(of: .events, olderThan: .zero)
        },
        StoreVerb("missingPartitions") { stores, _ in
            try await stores.partitions.missingPartitions(of: .events).count
        },
        StoreVerb("expiredPartitions") { stores, _ in
            try await stores.partitions.expiredPartitions(
                of: .events,
                olderThan: .seconds(7 * 86_400)
            ).count
        },
        StoreVerb("continueCancellations") { stores, _ in
            try await stores.cancellations.continueCancellations() ? 1 : 0
        },
        StoreVerb("pruneSessions", pages: 5000) { stores, _ in
            _ = try await stores.retention.pruneSessions(endedBefore: .seconds(86_400), after: nil)
            return 0
        },
        StoreVerb("endIdleSessions", pages: 5000) { stores, _ in
            _ = try await stores.retention.endIdleSessions(idle: .seconds(86_400), after: nil)
            return 0
        },
        StoreVerb("pruneSubscriptions") { stores, _ in
            try await stores.retention.pruneSubscriptions(deletedBefore: .seconds(86_400)) ? 1 : 0
        },
        StoreVerb("ownersBeingRemoved") { stores, _ in
            try await stores.ownerRemovals.ownersBeingRemoved().count
        },
        StoreVerb("beginTenantRemoval", pages: 5000) { stores, _ in
            _ = try await stores.ownerRemovals.beginTenantRemoval(named: "scale")
            return 0
        },
        // The sessions of a page end, and the first of them wait for their erasure.
        StoreVerb("advanceRemoval", pages: 20_000) { stores, world in
            _ = try await stores.ownerRemovals.advanceRemoval(of: .tenant(world.tenant))
            return page
        },
        StoreVerb("finishRemoval") { stores, _ in
            try await stores.ownerRemovals.finishRemoval(of: .tenant(TenantID(UUID()))) ? 1 : 0
        },
        StoreVerb("tasksToErase") { stores, _ in try await stores.erasure.tasksToErase().count },
        StoreVerb("erase") { stores, _ in
            _ = try await stores.erasure.erase([])
            return 0
        },
    ]
}

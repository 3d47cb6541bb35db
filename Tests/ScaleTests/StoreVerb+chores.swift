import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    /// What every instance does again and again.
    static let chores: [StoreVerb] = [
        StoreVerb("foldMoves", pages: 1000) { store, world in
            _ = try await store.cancelTask(tenant: world.tenant, id: world.large(.queued))
            return try await 10 * store.foldMoves()
        },
        StoreVerb("sessionsToExpire", pages: 10_000) { store, _ in
            try await store.sessionsToExpire(after: nil).sessions.count
        },
        // Each subscription of the tenant is looked at.
        StoreVerb("tasksToExpire", pages: 60_000) { store, world in
            try await store.tasksToExpire(
                of: world.session(1),
                after: nil,
                holdMax: .seconds(24 * 3600)
            ).remains.count
        },
        StoreVerb("expire") { store, world in
            try await store.expire((0..<page).map(world.kept))
            return 2 * page
        },
        // A batch of a thousand.
        StoreVerb("pruneExpiredTasks", pages: 1000) { store, _ in
            try await store.pruneExpiredTasks(after: nil).removed
        },
        // All of it is looked through.
        StoreVerb("expireResumeData", pages: 100_000) { store, _ in
            try await store.expireResumeData()
        },
        StoreVerb("pruneClientStringChanges", pages: 40_000) { store, _ in
            try await store.pruneClientStringChanges(after: nil).removed
        },
        StoreVerb("pruneDeliveryLog", pages: 40_000) { store, _ in
            try await store.pruneDeliveryLog(olderThan: .zero, after: nil).removed
        },
        StoreVerb("pruneIdempotencyKeys") { store, _ in try await store.pruneIdempotencyKeys() },
        StoreVerb("pruneHosts", pages: 60_000) { store, _ in try await store.pruneHosts() },
        StoreVerb("pruneDefaultPartition") { store, _ in
            try await store.pruneDefaultPartition(of: .events, olderThan: .zero)
        },
        StoreVerb("missingPartitions") { store, _ in
            try await store.missingPartitions(of: .events).count
        },
        StoreVerb("expiredPartitions") { store, _ in
            try await store.expiredPartitions(of: .events, olderThan: .seconds(7 * 86_400)).count
        },
        StoreVerb("continueCancellations") { store, _ in
            try await store.continueCancellations() ? 1 : 0
        },
        StoreVerb("pruneSessions", pages: 5000) { store, _ in
            _ = try await store.pruneSessions(endedBefore: .seconds(86_400), after: nil)
            return 0
        },
        StoreVerb("pruneSubscriptions") { store, _ in
            try await store.pruneSubscriptions(deletedBefore: .seconds(86_400)) ? 1 : 0
        },
        StoreVerb("tasksToErase") { store, _ in try await store.tasksToErase().count },
        StoreVerb("erase") { store, _ in
            _ = try await store.erase([])
            return 0
        },
    ]
}

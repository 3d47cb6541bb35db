import TransferModel
import TransferStore

extension Claimer {
    /// Takes this worker's share of the shards and gives away the surplus.
    ///
    /// Only the claiming loop does so: no claim is under way while a shard is given away, and
    /// earlier claims are in the database for the next owner to count.
    func tendShards(_ queue: inout QueueView) async throws(StoreError) {
        let incarnation = identity.incarnation
        let now = ContinuousClock.now
        guard queue.incarnation != incarnation || now >= queue.shardsDueAt else { return }
        if queue.incarnation != incarnation {
            queue.incarnation = nil
            scheduler.with { $0.own([], foreign: [:]) }
        }
        let lease = try await stores.workers.leaseShards(incarnation: incarnation)
        let isCounting = scheduler.with { schedule in
            !schedule.foreign.isEmpty || !lease.shards.isSubset(of: schedule.shards)
        }
        let foreign =
            isCounting ? try await stores.workers.foreignAttempts(inShardsOf: incarnation) : [:]
        let (leaving, isMore) = scheduler.with { schedule in
            let leaving = schedule.surplus(of: lease.shards, beyond: lease.share)
            let mine = lease.shards.subtracting(leaving)
            let isMore = !mine.isSubset(of: schedule.shards)
            schedule.own(mine, foreign: foreign, hosts: lease.hosts)
            return (leaving, isMore)
        }
        if isMore { queue.isStale = true }
        queue.incarnation = incarnation
        queue.shardsDueAt = now + EngineConfiguration.shardsInterval
        // An additional connection of a running attempt has no row in the database, so it is closed
        // first.
        if !leaving.isEmpty, active.withdraw(from: leaving) {
            try await stores.workers.releaseShards(leaving, incarnation: incarnation)
        }
    }
}

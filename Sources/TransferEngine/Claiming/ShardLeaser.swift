import Logging
import TransferModel
import TransferStore

/// The shards that this worker leases, within which it counts the connections to each host.
struct ShardLeaser {
    let workers: WorkerStore
    let identity: WorkerIdentity
    let fairShare: SharedFairShare
    let active: ActiveAttempts
    let logger: Logger

    /// Takes this worker's share of the shards and gives away the surplus.
    ///
    /// Only the claiming loop does so: no claim is under way while a shard is given away, and
    /// earlier claims are in the database for the next owner to count.
    ///
    /// A failure is no reason not to claim from the shards that the worker has: they are its own
    /// for as long as it is registered, which each claim checks.
    func tend(_ queue: inout QueueScan) async throws(StoreError) {
        let incarnation = identity.incarnation
        let now = ContinuousClock.now
        guard queue.incarnation != incarnation || now >= queue.shardsDueAt else { return }
        if queue.incarnation != incarnation {
            queue.incarnation = nil
            fairShare.with { $0.own([], foreign: [:]) }
        }
        let lease: ShardLease
        let foreign: [Flow: Int]
        do throws(StoreError) {
            (lease, foreign) = try await leased(by: incarnation)
        } catch {
            guard queue.incarnation == incarnation else { throw error }
            logger.debug("shards not leased", metadata: ["error": "\(error)"])
            queue.shardsDueAt = .now + EngineConfiguration.shardsRetryInterval
            return
        }
        let (leaving, isMore) = fairShare.with { share in
            let leaving = share.surplus(of: lease.shards, beyond: lease.share)
            let mine = lease.shards.subtracting(leaving)
            let isMore = !mine.isSubset(of: share.shards)
            share.own(mine, foreign: foreign, hosts: lease.hosts)
            return (leaving, isMore)
        }
        if isMore { queue.isStale = true }
        queue.incarnation = incarnation
        queue.shardsDueAt = now + EngineConfiguration.shardsInterval
        // An additional connection of a running attempt has no row in the database, so it is closed
        // first.
        if !leaving.isEmpty, active.withdraw(from: leaving) {
            try await workers.releaseShards(leaving, incarnation: incarnation)
        }
    }

    private func leased(
        by incarnation: Int32
    ) async throws(StoreError) -> (ShardLease, [Flow: Int]) {
        let lease = try await workers.leaseShards(
            incarnation: incarnation,
            knowing: fairShare.with { $0.shards }
        )
        let isCounting = fairShare.with { share in
            !share.foreign.isEmpty || !lease.shards.isSubset(of: share.shards)
        }
        let foreign =
            isCounting ? try await workers.foreignAttempts(inShardsOf: incarnation) : [:]
        return (lease, foreign)
    }

    /// Releases all shards, so that others can claim their tasks at once.
    func release() async {
        let shards = fairShare.with { $0.shards }
        do throws(StoreError) {
            try await workers.releaseShards(shards, incarnation: identity.incarnation)
        } catch {
            // They are free as soon as the worker's registration is gone.
            logger.debug("shards not released", metadata: ["error": "\(error)"])
        }
    }
}

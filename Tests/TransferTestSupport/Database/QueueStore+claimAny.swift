package import TransferModel
package import TransferStore

extension QueueStore {
    /// Gives waiting tasks, whatever their flow, to a worker.
    package func claimAny(
        _ limit: Int,
        by worker: WorkerIdentity
    ) async throws(StoreError) -> [TaskClaim] {
        var claims: [TaskClaim] = []
        for waiting in try await waitingFlows(in: Set(Shard.all).hostKeys)
        where waiting.mayBegin && claims.count < limit {
            let grant = FlowGrant(
                flow: waiting.flow,
                count: limit - claims.count,
                from: waiting.position
            )
            claims += try await claim([grant], fences: worker.reserve(grant.count))
        }
        return claims
    }
}

package import TransferModel
import TransferStore

extension Stores {
    /// Does one turn of each chore that takes part in a removal; a `worker` also lets go of what
    /// was taken away.
    ///
    /// - Returns: whether nothing is left to remove.
    package func removalTurn(worker: WorkerIdentity? = nil) async throws -> Bool {
        for owner in try await ownerRemovals.ownersBeingRemoved() {
            if try await retention.pruneSubscriptions(deletedBefore: .seconds(86_400)) { continue }
            guard try await ownerRemovals.advanceRemoval(of: owner) == .itself else { continue }
            try await ownerRemovals.finishRemoval(of: owner)
        }
        try await cancellations.continueCancellations()
        if let worker {
            let controls = try await workers.controls(incarnation: worker.incarnation)
            try await workers.removeRevocations(controls.revocations)
        }
        let abandoned = try await parts.abandonedParts()
        try await parts.forgetAbandonedParts(abandoned.map(\.fence))
        try await erasure.erase(erasure.tasksToErase().map(\.task))
        _ = try await counts.foldMoves()
        return try await ownerRemovals.ownersBeingRemoved().isEmpty
    }
}

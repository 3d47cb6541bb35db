import Logging
import TransferStore

extension Pruner {
    /// The interval of sealing: what an intruder can alter unseen is younger.
    static let sealInterval: Duration = .seconds(5)

    /// Seals the next block of the audit log.
    ///
    /// The log of the service keeps its digest apart from the database, so that whoever makes a new
    /// chain there is found out.
    func sealAudit() async throws(StoreError) -> Chore.Next {
        guard let block = try await stores.audit.seal() else { return .rest }
        logger.info("audit log sealed", metadata: ["block": "\(block)"])
        return .more
    }

    /// Removes the entries of old blocks.
    func pruneAudit() async throws(StoreError) {
        while let number = try await stores.audit.removeEntries(sealedBefore: retention.audit) {
            logger.info("audit entries removed", metadata: ["block": "\(number)"])
        }
    }
}

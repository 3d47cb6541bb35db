import Logging
import TransferContainer
import TransferModel
import TransferStore

extension Pruner {
    /// The interval between two looks for tenants and clients to remove, and for what other
    /// instances have cancelled and erased.
    static let removalInterval: Duration = .seconds(5)

    /// Removes a page of each tenant and each client that is to be removed.
    ///
    /// One that is blocked by others is left for the next turn, and does not delay the rest.
    func removeOwners() async throws(StoreError) -> Chore.Next {
        var isMore = false
        var failure: StoreError?
        for owner in try await stores.ownerRemovals.ownersBeingRemoved() {
            do throws(StoreError) {
                if try await advance(owner) { isMore = true }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure, !isMore { throw failure }
        return Chore.Next(isMore: isMore)
    }

    /// - Returns: whether the next page can follow at once.
    private func advance(_ owner: RemovedOwner) async throws(StoreError) -> Bool {
        if try await pruneSubscription() { return true }
        switch try await stores.ownerRemovals.advanceRemoval(of: owner) {
        case .more: return true
        case .waiting:
            removals.cancellations.signal()
            return false
        case .itself: break
        }
        // The files go before the tenant, for nobody looks into the folder of an unknown one. Those
        // of a client have gone with its tasks.
        if case .tenant(let tenant) = owner {
            do throws(StorageError) {
                guard try await files.removeSome(of: tenant) else { return true }
            } catch {
                logger.warning(
                    "files of a removed tenant stay",
                    metadata: ["tenant": "\(tenant)", "error": "\(error)"]
                )
                return false
            }
        }
        if try await stores.ownerRemovals.finishRemoval(of: owner) { log(owner) }
        return false
    }

    private func log(_ owner: RemovedOwner) {
        switch owner {
        case .tenant(let tenant):
            logger.info("tenant removed", metadata: ["tenant": "\(tenant)"])
        case .client(let client, log: _, of: let tenant):
            logger.info(
                "client removed",
                metadata: ["tenant": "\(tenant)", "client": "\(client.name)"]
            )
        }
    }
}

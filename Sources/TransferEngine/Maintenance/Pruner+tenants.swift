import Logging
import TransferContainer
import TransferModel
import TransferStore

extension Pruner {
    /// The interval between two looks for tenants to remove, and between pages while others cancel
    /// and erase.
    static let tenantInterval: Duration = .seconds(5)

    /// Removes a page of each tenant that an operator wants removed.
    ///
    /// One that is blocked by others is left for the next turn, and does not delay the rest.
    func removeTenants() async throws(StoreError) -> Chore.Next {
        var isMore = false
        var failure: StoreError?
        for tenant in try await stores.tenantRemovals.tenantsBeingRemoved() {
            do throws(StoreError) {
                if try await advance(tenant) { isMore = true }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure, !isMore { throw failure }
        return Chore.Next(isMore: isMore)
    }

    /// - Returns: whether the next page can follow at once.
    private func advance(_ tenant: TenantID) async throws(StoreError) -> Bool {
        if try await stores.retention.pruneSubscriptions(deletedBefore: retention.sessions) {
            return true
        }
        switch try await stores.tenantRemovals.advanceTenantRemoval(tenant) {
        case .more: return true
        case .waiting: return false
        case .files: break
        }
        // The files go before the tenant, for nobody looks into the folder of an unknown one.
        do throws(StorageError) {
            guard try await files.removeSome(of: tenant) else { return true }
        } catch {
            logger.warning(
                "files of a removed tenant stay",
                metadata: ["tenant": "\(tenant)", "error": "\(error)"]
            )
            return false
        }
        if try await stores.tenantRemovals.finishTenantRemoval(tenant) {
            logger.info("tenant removed", metadata: ["tenant": "\(tenant)"])
        }
        return false
    }
}

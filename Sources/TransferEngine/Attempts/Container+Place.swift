import Logging
import TransferContainer
import TransferModel
import TransferStore

extension Container.Place {
    /// Creates the place of a task's part file, started by the attempt with this fence.
    init(partOf task: TaskID, destination: Destination?, fence: Fence, tenant: TenantID) {
        self.init(
            ResultLocation.partPath(of: task, destination: destination, fence: fence),
            tenant: tenant
        )
    }

    /// Creates the place of the part file that the attempt with this fence has started of a task.
    init(partOf claim: TaskClaim, fence: Fence) {
        self.init(
            partOf: claim.task,
            destination: claim.destination,
            fence: fence,
            tenant: claim.tenant
        )
    }

    /// Creates the place of a pending rename's part file.
    init(partOf pendingRename: PendingRename) {
        self.init(
            partOf: pendingRename.task,
            destination: pendingRename.destination,
            fence: pendingRename.partFence,
            tenant: pendingRename.tenant
        )
    }
}

extension Container {
    /// Removes a file that is no longer needed; a failure is logged.
    ///
    /// - Returns: whether the file is gone.
    @discardableResult
    func discard(_ place: Place, _ logger: Logger) -> Bool {
        do throws(StorageError) {
            try removePart(at: place)
            return true
        } catch {
            logger.warning("file not removed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Removes the files of tasks of which nothing is to remain.
    ///
    /// - Returns: the tasks whose files are gone.
    func discard(_ remains: [TaskRemains], _ logger: Logger) -> [TaskID] {
        remains.filter { remains in
            remains.paths.allSatisfy { discard(Place($0, tenant: remains.tenant), logger) }
        }.map(\.task)
    }
}

import Logging
import TransferContainer
import TransferModel
import TransferStore

extension Container.Place {
    /// The part file of a task that the attempt with this fence began.
    init(partOf task: TaskID, destination: Destination?, fence: Fence, tenant: TenantID) {
        self.init(
            ResultLocation.partPath(of: task, destination: destination, fence: fence),
            tenant: tenant
        )
    }

    /// The part file of a publication.
    init(partOf publication: Publication) {
        self.init(
            partOf: publication.task,
            destination: publication.destination,
            fence: publication.partFence,
            tenant: publication.tenant
        )
    }

    /// The final file of a publication.
    init(of publication: Publication) {
        self.init(
            ResultLocation.path(of: publication.task, destination: publication.destination),
            tenant: publication.tenant
        )
    }
}

extension Container {
    /// Removes a file that nobody needs; why it stays is logged.
    ///
    /// - Returns: whether it is gone.
    func discard(_ place: Place, _ logger: Logger) -> Bool {
        do throws(StorageError) {
            try removePart(at: place)
            return true
        } catch {
            logger.warning("file not removed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Removes the files of tasks of which nothing is to be left.
    ///
    /// - Returns: the tasks whose files are gone.
    func discard(_ remains: [TaskRemains], _ logger: Logger) -> [TaskID] {
        remains.filter { remains in
            remains.paths.allSatisfy { discard(Place($0, tenant: remains.tenant), logger) }
        }.map(\.task)
    }
}

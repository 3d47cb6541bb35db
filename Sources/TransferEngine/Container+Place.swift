import TransferContainer
import TransferModel

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

/// A part file that no living attempt will ever finish.
package struct AbandonedPart: Sendable {
    package let tenant: TenantID
    package let task: TaskID
    package let destination: Destination?
    /// The fence that names the part file.
    package let fence: Fence
    /// The file's path in the tenant's container; nil when it lies at the task's own place.
    package let sourcePath: String?

    package init(
        tenant: TenantID,
        task: TaskID,
        destination: Destination?,
        fence: Fence,
        sourcePath: String?
    ) {
        self.tenant = tenant
        self.task = task
        self.destination = destination
        self.fence = fence
        self.sourcePath = sourcePath
    }
}

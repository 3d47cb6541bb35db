/// A transfer that is to be cancelled because its run has expired.
package struct RunTransfer: Sendable {
    package let run: BackgroundTaskRunID
    package let tenant: TenantID
    /// The transfer; nil when none is left.
    package let task: TaskID?

    package init(run: BackgroundTaskRunID, tenant: TenantID, task: TaskID?) {
        self.run = run
        self.tenant = tenant
        self.task = task
    }
}

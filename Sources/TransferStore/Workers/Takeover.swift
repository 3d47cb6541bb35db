package import TransferModel

/// The work that one worker took over from dead ones.
package struct Takeover: Sendable {
    /// The number of workers that were found dead.
    package let workers: Int
    /// The attempts of the dead workers, which now belong to this one, to be run again or given up.
    package let attempts: [TaskClaim]
    /// The number of workers in a row that died with each task.
    package let deaths: [TaskID: DeathStreak]
    /// The tasks whose origins have named a resource for the rest of their uploads.
    package let resumableUploads: Set<TaskID>
    /// The pending renames of the dead workers, which now belong to this one, to be finished.
    package let pendingRenames: [PendingRename]
}

package import TransferModel

/// What one worker took over from dead ones.
package struct Takeover: Sendable {
    /// How many workers were found dead.
    package let workers: Int
    /// Their attempts, now this worker's, to be run again or given up.
    package let attempts: [TaskClaim]
    /// How many workers in a row have died with each of their tasks.
    package let deaths: [TaskID: DeathStreak]
    /// Their pending renames, now this worker's, to be finished.
    package let pendingRenames: [PendingRename]
}

package import TransferModel

/// The state of the database and of the instances that share it.
package struct Vitals: Sendable {
    /// The number of registered workers.
    package let workers: Int
    /// The numbers of pauses.
    package let pauses: PauseCounts
    /// The oldest version that may run on the schema; nil if the schema holds nothing new.
    package let schemaFloor: Int?
    /// Whether a commit waits for a synchronous standby, seconds after its statement began.
    package let areCommitsWaiting: Bool
    /// The seconds by which this machine's clock is at least ahead of the database's; negative if
    /// it is behind, and 0 if both can have shown the same.
    package let clockDifference: Double
}

/// The week of a partition, as the database writes it.
package struct LogPartition: Sendable {
    /// The log that the partition is a part of.
    package let log: PartitionedLog
    /// The table's name and its Monday.
    package let name: String
    let week: String
}

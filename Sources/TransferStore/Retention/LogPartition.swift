/// The week of a partition, in the database's words.
package struct LogPartition: Sendable {
    package let log: PartitionedLog
    /// The table's name and its Monday.
    package let name: String
    let begin: String
    let end: String
}

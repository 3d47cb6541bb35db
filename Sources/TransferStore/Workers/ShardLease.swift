package import TransferModel

/// The shards that a worker has, and its share.
package struct ShardLease: Sendable {
    /// The shards that belong to the worker now.
    package let shards: Set<Shard>
    /// The maximum number of its shards, with which all workers have equally many.
    package let share: Int
    /// The stored state of the hosts in its shards: all that an operator has bounded, and in shards
    /// new to the worker those that are given fewer connections.
    package let hosts: [HostKey: HostState]
}

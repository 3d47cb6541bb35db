package import TransferModel

/// Which shards a worker has, beside how many it should.
package struct ShardLease: Sendable {
    /// Those that are its own now.
    package let shards: Set<Shard>
    /// How many it may have at most, so that all workers have as many.
    package let share: Int
    /// What is stored of hosts in them.
    package let hosts: [HostKey: HostState]
}

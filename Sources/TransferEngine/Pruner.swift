package import Logging
import ServiceLifecycle
package import TransferStore

/// Makes room for the events to come and removes those that are too old, with what only they used.
///
/// Every instance has one, and each finds out what is left to do; an advisory lock lets one of them
/// do it at a time.
package struct Pruner: Service {
    package static let retentionDefaultInDays = 30
    /// A message is tried for some four days, so that none outlives its event.
    package static let retentionRangeInDays = 7...3650

    private static let interval: Duration = .seconds(3600)
    /// Tries of a change that finds the table of events in use, and the time between two.
    private static let triesMax = 20
    private static let triesPause: Duration = .seconds(1)

    private let store: TransferStore
    private let retention: Duration
    private let logger: Logger

    /// - Parameters:
    ///   - store: what is pruned.
    ///   - retention: how long events are kept at least; they go by the week.
    ///   - logger: is told what was removed.
    package init(store: TransferStore, retention: Duration, logger: Logger) {
        self.store = store
        self.retention = retention
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do throws(StoreError) {
                    try await makePartitions()
                    try await prune()
                } catch {
                    if !Task.isCancelled {
                        logger.warning("old events not removed", metadata: ["error": "\(error)"])
                    }
                }
                do { try await Task.sleep(for: Self.interval.jittered) } catch { return }
            }
        }
    }

    /// Makes the partitions of this week and the next ones; also called before anything is written,
    /// so that no event of a new database falls into the default partition.
    package func makePartitions() async throws(StoreError) {
        for partition in try await store.missingEventPartitions() {
            let isMade = try await patiently { () throws(StoreError) in
                try await store.makeEventPartition(partition)
            }
            logger.log(
                level: isMade ? .debug : .warning,
                isMade
                    ? "partition of events made" : "events of a week stay in the default partition",
                metadata: ["partition": "\(partition.name)"]
            )
        }
    }

    private func prune() async throws(StoreError) {
        for name in try await store.expiredEventPartitions(olderThan: retention) {
            try await patiently { () throws(StoreError) in
                try await store.dropEventPartition(name)
            }
            logger.info("events removed", metadata: ["partition": "\(name)"])
        }
        while try await store.pruneDefaultEvents(olderThan: retention) > 0 {}
        try await sweep { position throws(StoreError) in
            try await store.pruneClientStringChanges(after: position)
        }
        try await sweep { position throws(StoreError) in
            try await store.pruneDeliveryLog(olderThan: retention, after: position)
        }
    }

    /// Goes through a table from the begin to the end, in batches.
    private func sweep<Position>(
        _ next: (Position?) async throws(StoreError) -> Sweep<Position>
    ) async throws(StoreError) {
        var position: Position?
        repeat { position = try await next(position).position } while position != nil
    }

    /// Repeats `change` while events are written and read all the time: it gives up early rather
    /// than hold them up.
    private func patiently<Value>(
        _ change: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        var tries = 1
        while true {
            do throws(StoreError) {
                return try await change()
            } catch {
                guard case .unavailable = error, tries < Self.triesMax, !Task.isCancelled else {
                    throw error
                }
                tries += 1
                try? await Task.sleep(for: Self.triesPause.jittered)
            }
        }
    }
}

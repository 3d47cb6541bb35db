package import Logging
import ServiceLifecycle
package import TransferContainer
package import TransferStore

/// Makes room for the events to come, and removes what is too old, with what only that used.
///
/// That is events, attempts, tasks with their results, and files that nobody else would remove. Every
/// worker has one, and each finds out what is left to do; an advisory lock lets one of them do it at
/// a time.
package struct Pruner: Service {
    package static let retentionDefaultInDays = 30
    /// A message is tried for some four days, so that none outlives its event.
    package static let retentionRangeInDays = 7...3650

    private static let interval: Duration = .seconds(3600)
    /// Tries of a change that finds a table in use, and the time between two.
    private static let triesMax = 20
    private static let triesPause: Duration = .seconds(1)

    let store: TransferStore
    let files: ContainerSweeper
    let logger: Logger
    private let retention: Retention

    /// How long what is only added to is kept at least; it goes by the week.
    package struct Retention: Sendable {
        package var events: Duration
        /// Of ended attempts, also of tasks that are kept longer or not as long.
        package var attempts: Duration

        package init(events: Duration, attempts: Duration) {
            self.events = events
            self.attempts = attempts
        }
    }

    /// - Parameters:
    ///   - store: what is pruned.
    ///   - container: where the results are.
    ///   - retention: how long events and attempts are kept.
    ///   - logger: is told what was removed.
    /// - Throws: when there is no thread for it.
    package init(
        store: TransferStore,
        container: Container,
        retention: Retention,
        logger: Logger
    ) throws {
        self.store = store
        files = try ContainerSweeper(container, logger: logger)
        self.retention = retention
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var isFirst = true
            while !Task.isCancelled {
                await tried("old events and attempts not removed") { () throws(StoreError) in
                    try await makePartitions()
                    try await prune()
                }
                await tried("old tasks not removed") { () throws(StoreError) in
                    try await expireTasks()
                }
                await tried("files of nobody not removed") { () throws(StoreError) in
                    try await sweepFiles(isThorough: isFirst)
                    isFirst = false
                }
                do { try await Task.sleep(for: Self.interval.jittered) } catch { return }
            }
        }
    }

    /// Makes the partitions of this week and the next ones; also called before anything is written,
    /// so that nothing of a new database falls into the default partitions.
    package func makePartitions() async throws(StoreError) {
        for log in PartitionedLog.allCases {
            for partition in try await store.missingPartitions(of: log) {
                let isMade = try await patiently { () throws(StoreError) in
                    try await store.makePartition(partition)
                }
                logger.log(
                    level: isMade ? .debug : .warning,
                    isMade ? "partition made" : "rows of a week stay in the default partition",
                    metadata: ["partition": "\(partition.name)"]
                )
            }
        }
    }

    /// Does one kind of work, so that the others are done although it fails.
    private func tried(
        _ failure: Logger.Message,
        _ work: () async throws(StoreError) -> Void
    ) async {
        do throws(StoreError) {
            try await work()
        } catch {
            if !Task.isCancelled { logger.warning(failure, metadata: ["error": "\(error)"]) }
        }
    }

    /// The last event of what waits for its subscribers is gone by then, with its week.
    var holdMax: Duration { retention.events + .seconds(7 * 24 * 3600) }

    private func prune() async throws(StoreError) {
        try await prune(.events, olderThan: retention.events)
        try await prune(.attempts, olderThan: retention.attempts)
        while try await store.pruneHosts() > 0 {}
        try await sweep { position throws(StoreError) in
            try await store.pruneClientStringChanges(after: position)
        }
        try await sweep { position throws(StoreError) in
            try await store.pruneDeliveryLog(olderThan: retention.events, after: position)
        }
    }

    private func prune(
        _ log: PartitionedLog,
        olderThan retention: Duration
    ) async throws(StoreError) {
        for name in try await store.expiredPartitions(of: log, olderThan: retention) {
            try await patiently { () throws(StoreError) in
                try await store.dropPartition(name)
            }
            logger.info("partition removed", metadata: ["partition": "\(name)"])
        }
        while try await store.pruneDefaultPartition(of: log, olderThan: retention) > 0 {}
    }

    /// Goes through a table from the begin to the end, in batches.
    func sweep<Position>(
        _ next: (Position?) async throws(StoreError) -> Sweep<Position>
    ) async throws(StoreError) {
        var position: Position?
        repeat { position = try await next(position).position } while position != nil
    }

    /// Repeats `change` while a log is written and read all the time: it gives up early rather
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

package import Logging
import ServiceLifecycle
package import TransferContainer
package import TransferStore

/// Makes room for the events to come, and removes what is too old, with what only that used.
///
/// That is events, attempts, tasks with their results, sessions, subscriptions, and files that nobody
/// else would remove. Every worker has one, and each finds out what is left to do; advisory locks
/// let one of them do each at a time.
package struct Pruner: Service {
    package static let retentionDefaultInDays = 30
    /// A message is tried for some four days, so that none outlives its event.
    package static let retentionRangeInDays = 7...3650

    private static let interval: Duration = .seconds(3600)
    /// Tries of a change that finds a table in use, and the time between two.
    private static let triesMax = 20
    private static let triesPause: Duration = .seconds(1)

    let stores: EngineStores
    let files: ContainerSweeper
    let logger: Logger
    private let retention: Retention

    /// How long what is only added to is kept at least; it goes by the week.
    package struct Retention: Sendable {
        package var events: Duration
        /// Of ended attempts, also of tasks that are kept longer or not as long.
        package var attempts: Duration
        /// Of sessions after their end, and of subscriptions after they were deleted.
        package var sessions: Duration

        package init(events: Duration, attempts: Duration, sessions: Duration) {
            self.events = events
            self.attempts = attempts
            self.sessions = sessions
        }
    }

    /// - Parameters:
    ///   - stores: what is pruned.
    ///   - container: where the results are.
    ///   - retention: how long events, attempts and sessions are kept.
    ///   - logger: is told what was removed.
    /// - Throws: when there is no thread for it.
    package init(
        stores: EngineStores,
        container: Container,
        retention: Retention,
        logger: Logger
    ) throws {
        self.stores = stores
        files = try ContainerSweeper(container, logger: logger)
        self.retention = retention
        self.logger = logger
    }

    package func run() async throws {
        try await Maintenance(chores: chores, logger: logger).run()
    }

    /// What is removed; the partitions come first, for events are written into them.
    private var chores: [Chore] {
        [
            chore("partitions", makePartitions),
            chore("old events", pruneEvents),
            chore("old attempts", pruneAttempts),
            chore("idle hosts") { () throws(StoreError) in
                while try await stores.hosts.pruneHosts() > 0 {}
            },
            chore("former client strings") { () throws(StoreError) in
                try await sweep(stores.retention.pruneClientStringChanges)
            },
            chore("delivery log", pruneDeliveryLog),
            chore("unused resume data") { () throws(StoreError) in
                while try await stores.retention.expireResumeData() > 0 {}
            },
            chore("old tasks", expireTasks),
            chore("expired tasks") { () throws(StoreError) in
                try await sweep(stores.retention.pruneExpiredTasks)
            },
            chore("ended sessions", pruneSessions),
            chore("deleted subscriptions", pruneSubscriptions),
            Chore("files of nobody", every: Self.interval, making: sweepingFiles),
        ]
    }

    private func sweepingFiles() -> Chore.Turn {
        var isFirst = true
        return { () throws(StoreError) in
            try await sweepFiles(isThorough: isFirst)
            isFirst = false
            return .rest
        }
    }

    private func chore(
        _ name: String,
        _ turn: @escaping @Sendable () async throws(StoreError) -> Void
    ) -> Chore {
        Chore(name, every: Self.interval) { () throws(StoreError) in
            try await turn()
            return .rest
        }
    }

    /// Makes the partitions of this week and the next ones; also called before anything is written,
    /// so that nothing of a new database falls into the default partitions.
    package func makePartitions() async throws(StoreError) {
        for log in PartitionedLog.allCases {
            for partition in try await stores.partitions.missingPartitions(of: log) {
                let isMade = try await patiently { () throws(StoreError) in
                    try await stores.partitions.makePartition(partition)
                }
                logger.log(
                    level: isMade ? .debug : .warning,
                    isMade ? "partition made" : "rows of a week stay in the default partition",
                    metadata: ["partition": "\(partition.name)"]
                )
            }
        }
    }

    /// The last event of what waits for its subscribers is gone by then, with its week.
    var holdMax: Duration { retention.events + .seconds(7 * 24 * 3600) }

    private func pruneEvents() async throws(StoreError) {
        try await prune(.events, olderThan: retention.events)
    }

    private func pruneAttempts() async throws(StoreError) {
        try await prune(.attempts, olderThan: retention.attempts)
    }

    private func pruneDeliveryLog() async throws(StoreError) {
        try await sweep { position throws(StoreError) in
            try await stores.retention.pruneDeliveryLog(
                olderThan: retention.events,
                after: position
            )
        }
    }

    /// Removes sessions that ended long ago and of which nothing is kept any more.
    private func pruneSessions() async throws(StoreError) {
        try await sweep { position throws(StoreError) in
            try await stores.retention.pruneSessions(
                endedBefore: retention.sessions,
                after: position
            )
        }
    }

    private func pruneSubscriptions() async throws(StoreError) {
        while try await stores.retention.pruneSubscriptions(deletedBefore: retention.sessions) {}
    }

    private func prune(
        _ log: PartitionedLog,
        olderThan retention: Duration
    ) async throws(StoreError) {
        for name in try await stores.partitions.expiredPartitions(of: log, olderThan: retention) {
            try await patiently { () throws(StoreError) in
                try await stores.partitions.dropPartition(name)
            }
            logger.info("partition removed", metadata: ["partition": "\(name)"])
        }
        while try await stores.partitions.pruneDefaultPartition(of: log, olderThan: retention) > 0 {
        }
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

package import Logging
import PollLoop
import ServiceLifecycle
package import TransferContainer
package import TransferStore

/// The service that makes room for future events and removes what is too old, with what only that
/// used.
///
/// It removes events, attempts, tasks with their results, sessions, subscriptions, and files that
/// nobody else would remove. Every worker has one, and each finds out what is left to do; advisory
/// locks let one worker at a time do each.
package struct Pruner: Service {
    /// The default retention in days.
    package static let retentionDefaultInDays = 30
    /// The permitted retention in days; a message is tried for about four days, so none outlives
    /// its event, and most reads of logs look into each week that is kept.
    package static let retentionRangeInDays = 7...730
    /// The default retention of the audit log in days.
    package static let auditRetentionDefaultInDays = 90
    /// The permitted retention of the audit log in days.
    package static let auditRetentionRangeInDays = 1...3650

    private static let interval: Duration = .seconds(3600)
    /// The interval of what clients measure: what ends or expires is gone within a minute.
    private static let endInterval: Duration = .seconds(45)
    /// The time after which an ephemeral session without outstanding tasks ends by itself.
    private static let idleMax: Duration = .seconds(24 * 3600)
    /// The maximum number of tries for a change that finds a table in use.
    private static let triesMax = 20
    private static let triesPause: Duration = .seconds(1)

    let stores: EngineStores
    let files: ContainerSweeper
    let logger: Logger
    let retention: Retention
    /// What its removals tell the engine beside it, and are told.
    package let removals = Removals()

    /// The minimum time for which records that are only added are kept; they are removed a week at
    /// a time.
    package struct Retention: Sendable {
        /// The retention of events.
        package var events: Duration
        /// The retention of ended attempts, including those of tasks that are kept for longer or
        /// shorter.
        package var attempts: Duration
        /// The retention of sessions after their end, and of subscriptions after their deletion.
        package var sessions: Duration
        /// The retention of entries of the audit log after they were sealed.
        package var audit: Duration

        /// Creates a retention of these times.
        package init(
            events: Duration,
            attempts: Duration,
            sessions: Duration,
            audit: Duration = .seconds(Pruner.auditRetentionDefaultInDays * 24 * 3600)
        ) {
            self.events = events
            self.attempts = attempts
            self.sessions = sessions
            self.audit = audit
        }
    }

    /// - Parameters:
    ///   - stores: the stores that are pruned.
    ///   - container: the container of the results.
    ///   - retention: the retention of events, attempts and sessions.
    ///   - logger: the logger that records what was removed.
    /// - Throws: An error when there is no thread for it.
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

    /// Prunes until the group shuts down gracefully, or until cancelled.
    package func run() async throws {
        try await Maintenance(chores: chores, logger: logger).run()
    }

    /// The pruning chores; the partitions come first, for events are written into them.
    var chores: [Chore] {
        [
            chore("partitions", makePartitions),
            chore("old events", pruneEvents),
            chore("old attempts", pruneAttempts),
            Chore("sealing of the audit log", every: Self.sealInterval, sealAudit),
            chore("old audit entries", pruneAudit),
            chore("idle hosts") { () throws(StoreError) in
                while try await stores.hosts.pruneHosts() > 0 {}
            },
            chore("former client strings") { () throws(StoreError) in
                try await sweep(stores.retention.pruneClientStringChanges)
            },
            chore("delivery log", pruneDeliveryLog),
            chore("unused resume data") { () throws(StoreError) in
                while try await stores.retention.expireResumeData(
                    notAfter: removals.clock.latest
                ) > 0 {}
            },
            Chore("old tasks", every: Self.endInterval, all: expireTasks),
            Chore("bodies of ended uploads", every: Self.endInterval, all: sweepBodies),
            Chore("empty packs", every: Self.endInterval, all: sweepEmptyPacks),
            chore("expired tasks") { () throws(StoreError) in
                try await sweep(stores.retention.pruneExpiredTasks)
            },
            chore("idle sessions") { () throws(StoreError) in
                try await sweep { position throws(StoreError) in
                    try await stores.retention.endIdleSessions(
                        idle: Self.idleMax,
                        after: position,
                        notAfter: removals.clock.latest
                    )
                }
            },
            chore("ended sessions", pruneSessions),
            chore("deleted subscriptions", pruneSubscriptions),
            Chore(
                "removed tenants and clients",
                every: Self.removalInterval,
                orAfter: removals.owners,
                removeOwners
            ),
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
        Chore(name, every: Self.interval, all: turn)
    }

    /// Creates the partitions of this week and the next ones; also called before anything is
    /// written, so that no row of a new database ends up in the default partitions.
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

    /// The longest time for which the results of tasks wait for their subscribers; the last event
    /// for them, with its week, is gone by then.
    var holdMax: Duration { retention.events + .seconds(7 * 24 * 3600) }

    private func pruneEvents() async throws(StoreError) {
        try await prune(.feed, olderThan: retention.events)
        try await prune(.events, olderThan: retention.events)
    }

    private func pruneAttempts() async throws(StoreError) {
        try await prune(.attempts, olderThan: retention.attempts)
    }

    private func pruneDeliveryLog() async throws(StoreError) {
        try await sweep { position throws(StoreError) in
            try await stores.retention.pruneDeliveryLog(
                olderThan: retention.events,
                after: position,
                notAfter: removals.clock.latest
            )
        }
    }

    /// Removes sessions that ended long ago and of which nothing is kept any more.
    private func pruneSessions() async throws(StoreError) {
        try await sweep { position throws(StoreError) in
            try await stores.retention.pruneSessions(
                endedBefore: retention.sessions,
                after: position,
                notAfter: removals.clock.latest
            )
        }
    }

    private func pruneSubscriptions() async throws(StoreError) {
        while try await pruneSubscription() {}
    }

    /// Removes a part of a subscription that was deleted long ago.
    ///
    /// - Returns: whether there was one.
    func pruneSubscription() async throws(StoreError) -> Bool {
        try await stores.retention.pruneSubscriptions(
            deletedBefore: retention.sessions,
            notAfter: removals.clock.latest
        )
    }

    private func prune(
        _ log: PartitionedLog,
        olderThan retention: Duration
    ) async throws(StoreError) {
        let expired = try await stores.partitions.expiredPartitions(
            of: log,
            olderThan: retention,
            notAfter: removals.clock.latest
        )
        for name in expired {
            try await patiently { () throws(StoreError) in
                try await stores.partitions.dropPartition(name)
            }
            logger.info("partition removed", metadata: ["partition": "\(name)"])
        }
        while try await stores.partitions.pruneDefaultPartition(
            of: log,
            olderThan: retention,
            notAfter: removals.clock.latest
        ) > 0 {}
    }

    /// Goes through a table from beginning to end, in batches.
    func sweep<Position>(
        _ next: (Position?) async throws(StoreError) -> Sweep<Position>
    ) async throws(StoreError) {
        var position: Position?
        repeat { position = try await next(position).position } while position != nil
    }

    /// Retries `change` while a log is being written and read: each try gives up early rather than
    /// delay the others.
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

extension Pruner {
    /// The interval of sealing: what an intruder can alter unseen is younger.
    static let sealInterval: Duration = .seconds(5)

    /// Seals the next block of the audit log.
    ///
    /// The log of the service keeps its digest apart from the database, so that whoever makes a new
    /// chain there is found out.
    func sealAudit() async throws(StoreError) -> Chore.Next {
        guard let (block, isFull) = try await stores.audit.seal() else { return .rest }
        logger.info("audit log sealed", metadata: ["block": "\(block)"])
        // What was written meanwhile waits for the next interval: no block is ever removed.
        return isFull ? .more : .rest
    }

    /// Removes the entries of old blocks.
    func pruneAudit() async throws(StoreError) {
        while let number = try await stores.audit.removeEntries(
            sealedBefore: retention.audit,
            notAfter: removals.clock.latest
        ) {
            logger.info("audit entries removed", metadata: ["block": "\(number)"])
        }
    }
}

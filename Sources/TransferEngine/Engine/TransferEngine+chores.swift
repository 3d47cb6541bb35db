import Curl
import Logging
import TransferModel
import TransferStore

extension TransferEngine {
    /// The chores beside transferring.
    var chores: [Chore] { transferChores + backgroundChores }

    /// The chores of clients' background work.
    private var backgroundChores: [Chore] {
        let watcher = timerWatcher
        var chores = [
            Chore("timers", every: configuration.pollInterval, orAfter: timers, watcher.turn),
            Chore(
                "transfers of expired runs",
                every: configuration.heartbeatInterval,
                watcher.cancelTransfers
            ),
            Chore(
                "deliveries of launched clients",
                every: configuration.heartbeatInterval,
                resumeDeliveries
            ),
            Chore("ended runs", every: .seconds(60)) { () throws(StoreError) in
                let removed = try await stores.runs.pruneRuns(
                    endedBefore: EngineConfiguration.runRetention,
                    notAfter: removals.clock.latest
                )
                return Chore.Next(isMore: removed == RunStore.pruneMax)
            },
            Chore("ended assertions", every: .seconds(60)) { () throws(StoreError) in
                let removed = try await stores.assertions.pruneAssertions(
                    endedBefore: EngineConfiguration.assertionRetention,
                    notAfter: removals.clock.latest
                )
                return Chore.Next(isMore: removed == AssertionStore.pruneMax)
            },
        ]
        if let probe = networkProbe {
            chores.append(Chore("network probe", every: NetworkProbe.interval, probe.turn))
        }
        return chores
    }

    /// Makes a page of the deliveries due of each client that was launched after a force-quit.
    private func resumeDeliveries() async throws(StoreError) -> Chore.Next {
        let isMore = try await stores.resumptions.resumeDeliveries()
        if isMore { onEvents() }
        return Chore.Next(isMore: isMore)
    }

    private var networkProbe: NetworkProbe? {
        configuration.networkProbeURL.map { url in
            NetworkProbe(
                url: url,
                curl: loops.first,
                egress: configuration.egress,
                status: network,
                timers: stores.timers,
                logger: logger,
                onTimers: timers.signal
            )
        }
    }

    /// The chores of transfers; rescue comes first and waits for nothing else.
    private var transferChores: [Chore] {
        let heartbeat = configuration.heartbeatInterval
        let tick = EngineConfiguration.tickInterval
        return [
            Chore("rescue", every: heartbeat, all: rescuer.rescue),
            Chore("forgotten attempts", every: heartbeat, making: findingForgotten),
            Chore("promotion", every: tick, promoter.promote),
            Chore("release of hosts", every: tick) { () throws(StoreError) in
                try await hosts.releaseReached(onRunnable: promoter.onRunnable)
            },
            Chore(
                "cancellations",
                every: heartbeat,
                orAfter: removals.cancellations,
                making: cancelling
            ),
            Chore("bulk operations", every: heartbeat, advanceBulkOperations),
            Chore("ended bulk operations", every: .seconds(60)) { () throws(StoreError) in
                let removed = try await stores.bulkOperations.pruneBulkOperations(
                    notAfter: removals.clock.latest
                )
                return Chore.Next(isMore: removed == BulkOperationStore.pruneMax)
            },
            Chore("answered questions", every: heartbeat) { () throws(StoreError) in
                let continued = try await stores.answers.continueAnswered()
                if continued > 0 {
                    onEvents()
                    promoter.onRunnable([])
                }
                return Chore.Next(isMore: continued > 0)
            },
            Chore("waiting deliveries", every: heartbeat) { () throws(StoreError) in
                let pages = try await stores.deliveries.continueRestarts()
                if pages > 0 { onEvents() }
                return Chore.Next(isMore: pages > 0)
            },
            Chore("unanswered questions", every: heartbeat) { () throws(StoreError) in
                let failed = try await stores.questions.failUnanswered(
                    notAfter: removals.clock.latest
                )
                if failed > 0 {
                    onEvents()
                    // Some may continue, because they were answered.
                    promoter.onRunnable([])
                }
                return Chore.Next(isMore: failed >= QuestionStore.unansweredMax)
            },
            Chore("abandoned parts", every: heartbeat, making: removingAbandonedParts),
            Chore("container", every: heartbeat, making: watchingContainer),
            Chore("idle packs", every: .seconds(60)) { () throws(StoreError) in
                await completer.resultFiles.closeIdlePacks()
            },
            Chore("erasure", every: heartbeat, orAfter: removals.erasure, making: erasing),
            Chore("idempotency keys", every: heartbeat) { () throws(StoreError) in
                let removed = try await stores.idempotency.pruneIdempotencyKeys(
                    notAfter: removals.clock.latest
                )
                return Chore.Next(isMore: removed > 0)
            },
        ]
    }

    private var timerWatcher: TimerWatcher {
        TimerWatcher(
            timers: stores.timers,
            clock: promoter.clock,
            network: network,
            isCapacityIdle: configuration.capacity == .idle,
            interval: configuration.pollInterval,
            onEvents: onEvents,
            onCancelled: { wake(for: [.control]) }
        )
    }

    private func findingForgotten() -> Chore.Turn {
        var forgotten = ForgottenAttempts()
        return { () throws(StoreError) in
            try await finder.look(for: &forgotten)
            return .rest
        }
    }

    private func cancelling() -> Chore.Turn {
        var wasMore = false
        return { () throws(StoreError) in
            let isMore = try await stores.cancellations.continueCancellations()
            if isMore || wasMore { onEvents() }
            wasMore = isMore
            if !isMore { removals.erasure.signal() }
            return Chore.Next(isMore: isMore)
        }
    }

    /// Carries out a page of each bulk operation whose turn it is.
    private func advanceBulkOperations() async throws(StoreError) -> Chore.Next {
        let pages = try await stores.bulkOperations.advanceBulkOperations {
            operation throws(StoreError) in
            let isMore = try await advance(operation)
            onEvents()
            promoter.onRunnable([])
            return isMore
        }
        return Chore.Next(isMore: pages > 0)
    }

    private func advance(_ operation: RunningBulkOperation) async throws(StoreError) -> Bool {
        let uploads = try await stores.bulkOperations.stagedUploads(of: operation)
        let bodies = await completer.partFiles.tasksWithBodies(uploads, of: operation.tenant)
        return try await stores.bulkOperations.advanceBulkOperation(operation, bodies: bodies)
    }

    /// Removes part files from which no attempt will resume, whoever created them.
    ///
    /// Those that cannot be removed are passed by, and hold up none of the others.
    private func removingAbandonedParts() -> Chore.Turn {
        var position: Fence?
        return { () throws(StoreError) in
            let parts = try await stores.parts.abandonedParts(after: position)
            position = parts.count == PartStore.abandonedPartsMax ? parts.last?.fence : nil
            guard !parts.isEmpty else { return .rest }
            let removed = await completer.partFiles.remove(parts)
            try await stores.parts.forgetAbandonedParts(removed)
            return Chore.Next(isMore: position != nil)
        }
    }

    /// Notices when another directory, or none, is where the container was: nobody would find what
    /// is written into the open one.
    private func watchingContainer() -> Chore.Turn {
        var wasInPlace = true
        return { () throws(StoreError) in
            let isInPlace = await completer.resultFiles.isInPlace
            if !isInPlace { shortages.note(.storageFailure) }
            if wasInPlace, !isInPlace {
                logger.error(
                    "the directory of the containers was moved or replaced; put it back or restart"
                )
            }
            wasInPlace = isInPlace
            return .rest
        }
    }

    /// The pause after sessions of which none could be erased, however many of them wait.
    private static let erasurePause: Duration = .milliseconds(100)

    /// Removes part of what invalidated ephemeral sessions have left.
    ///
    /// Those that cannot be erased yet, or not at once, are passed by, and hold up none of the
    /// others.
    private func erasing() -> Chore.Turn {
        var position: SessionID?
        // Whether there was more at a place since the first one.
        var wasMore = false
        return { () throws(StoreError) in
            let latest = removals.clock.latest
            let tasks = try await stores.erasure.tasksToErase(after: position, notAfter: latest)
            let removed = await completer.partFiles.remove(tasks)
            // Done even without tasks: a session may have had none.
            let erased = try await stores.erasure.erase(
                removed,
                after: position,
                notAfter: latest
            )
            if erased.sessions > 0 { removals.owners.signal() }
            // Also after fewer than a call erases: others may have had resume data until now.
            let isMore = erased.isMore || !removed.isEmpty
            wasMore = wasMore || isMore
            position = erased.position
            guard position != nil else {
                defer { wasMore = false }
                return Chore.Next(isMore: wasMore)
            }
            let isIdle = removed.isEmpty && erased.sessions == 0 && !isMore
            return isIdle ? .after(Self.erasurePause) : .more
        }
    }
}

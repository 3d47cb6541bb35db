import Curl
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
                    endedBefore: EngineConfiguration.runRetention
                )
                return Chore.Next(isMore: removed == RunStore.pruneMax)
            },
            Chore("ended assertions", every: .seconds(60)) { () throws(StoreError) in
                let removed = try await stores.assertions.pruneAssertions(
                    endedBefore: EngineConfiguration.assertionRetention
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
            Chore("rescue", every: heartbeat) { () throws(StoreError) in
                try await rescuer.rescue()
                return .rest
            },
            Chore("forgotten attempts", every: heartbeat, making: findingForgotten),
            Chore("promotion", every: tick, promoter.promote),
            Chore("release of hosts", every: tick) { () throws(StoreError) in
                try await hosts.releaseReached(onRunnable: promoter.onRunnable)
                return .rest
            },
            Chore(
                "cancellations",
                every: heartbeat,
                orAfter: removals.cancellations,
                making: cancelling
            ),
            Chore("bulk operations", every: heartbeat, advanceBulkOperations),
            Chore("ended bulk operations", every: .seconds(60)) { () throws(StoreError) in
                let removed = try await stores.bulkOperations.pruneBulkOperations()
                return Chore.Next(isMore: removed == BulkOperationStore.pruneMax)
            },
            Chore("answered questions", every: heartbeat) { () throws(StoreError) in
                let continued = try await stores.answers.continueAnswered()
                if continued > 0 {
                    onEvents()
                    promoter.onRunnable()
                }
                return Chore.Next(isMore: continued > 0)
            },
            Chore("waiting deliveries", every: heartbeat) { () throws(StoreError) in
                let pages = try await stores.deliveries.continueRestarts()
                if pages > 0 { onEvents() }
                return Chore.Next(isMore: pages > 0)
            },
            Chore("unanswered questions", every: heartbeat) { () throws(StoreError) in
                let failed = try await stores.decisions.failUnanswered()
                if failed > 0 {
                    onEvents()
                    // Some may continue, because they were answered.
                    promoter.onRunnable()
                }
                return Chore.Next(isMore: failed >= DecisionStore.unansweredMax)
            },
            Chore("abandoned parts", every: heartbeat, removeAbandonedParts),
            Chore("idle packs", every: .seconds(60)) { () throws(StoreError) in
                await completer.resultFiles.closeIdlePacks()
                return .rest
            },
            Chore("erasure", every: heartbeat, orAfter: removals.erasure, eraseEphemeral),
            Chore("idempotency keys", every: heartbeat) { () throws(StoreError) in
                let isMore = try await stores.idempotency.pruneIdempotencyKeys() > 0
                return Chore.Next(isMore: isMore)
            },
        ]
    }

    private var timerWatcher: TimerWatcher {
        TimerWatcher(
            timers: stores.timers,
            control: stores.control,
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
    ///
    /// An operation that is blocked by others is left for the next turn, and does not delay the
    /// rest.
    private func advanceBulkOperations() async throws(StoreError) -> Chore.Next {
        var isMore = false
        var failure: StoreError?
        var position: BulkOperationID?
        repeat {
            let operations = try await stores.bulkOperations.runningBulkOperations(after: position)
            for operation in operations {
                do throws(StoreError) {
                    if try await advance(operation) { isMore = true }
                } catch {
                    failure = failure ?? error
                }
            }
            position =
                operations.count == BulkOperationStore.runningMax ? operations.last?.id : nil
            if !operations.isEmpty {
                onEvents()
                promoter.onRunnable()
            }
        } while position != nil
        if let failure, !isMore { throw failure }
        return Chore.Next(isMore: isMore)
    }

    private func advance(_ operation: RunningBulkOperation) async throws(StoreError) -> Bool {
        let uploads = try await stores.bulkOperations.stagedUploads(of: operation)
        let bodies = await completer.partFiles.tasksWithBodies(uploads, of: operation.tenant)
        return try await stores.bulkOperations.advanceBulkOperation(operation, bodies: bodies)
    }

    /// Removes part files from which no attempt will resume, whoever created them.
    private func removeAbandonedParts() async throws(StoreError) -> Chore.Next {
        let parts = try await stores.parts.abandonedParts()
        guard !parts.isEmpty else { return .rest }
        let removed = await completer.partFiles.remove(parts)
        try await stores.parts.forgetAbandonedParts(removed)
        return .rest
    }

    /// Removes part of what invalidated ephemeral sessions have left.
    private func eraseEphemeral() async throws(StoreError) -> Chore.Next {
        let tasks = try await stores.erasure.tasksToErase()
        let removed = await completer.partFiles.remove(tasks)
        // Done even without tasks: a session may have had none.
        let erased = try await stores.erasure.erase(removed)
        if erased.sessions > 0 { removals.owners.signal() }
        return Chore.Next(
            isMore: erased.isMore || removed.count == ErasureStore.erasureTasksMax
        )
    }
}

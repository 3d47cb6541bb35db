import Logging
import TransferModel
import TransferStore

/// The watch over the running attempts.
struct ControlWatcher {
    let workers: WorkerStore
    let parts: PartStore
    let identity: WorkerIdentity
    let active: ActiveAttempts
    let fairShare: SharedFairShare
    let bandwidth: Bandwidth
    let hosts: HostReporter
    let signal: WakeSignal
    let logger: Logger
    /// Called when events were committed.
    let onEvents: @Sendable () -> Void

    /// Stops cancelled attempts, holds the others to their limits and stores their progress.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await EngineConfiguration.tickInterval.repeated { signal.signal() }
            }
            var revocations = RevocationView()
            var deciding = FailureLog("hosts", logger: logger)
            var controlling = FailureLog("controls", logger: logger)
            var progress = FailureLog("progress", logger: logger)
            while !Task.isCancelled {
                await signal.wait()
                _ = await deciding.watch(hosts.store)
                _ = await controlling.watch { () throws(StoreError) in
                    try await heedControls(&revocations)
                }
                _ = await progress.watch(recordProgress)
            }
        }
    }

    private func recordProgress() async throws(StoreError) {
        let news = active.takeProgress()
        // As long as bytes flow, no host counts as unreachable.
        hosts.reachability.reached(news.heard)
        fairShare.with { share in
            for attempt in news.progress {
                let bytes = attempt.bytesReceived + attempt.bytesSent
                share.moved(attempt.fence, bytes: bytes)
            }
        }
        do throws(StoreError) {
            if !(try await parts.recordResumptions(news.resumptions)).isEmpty { onEvents() }
            if !news.progress.isEmpty, try await parts.recordProgress(news.progress) {
                onEvents()
            }
        } catch {
            active.restore()
            throw error
        }
    }

    private func heedControls(_ revocations: inout RevocationView) async throws(StoreError) {
        let query = bandwidth.query
        let controls = try await workers.controls(
            incarnation: identity.incarnation,
            query
        )
        bandwidth.apply(controls, to: query)
        giveBack(controls.pauses)
        try await stop(controls.revocations, &revocations)
    }

    /// Gives back attempts that are paused: those without a connection, and those that run if the
    /// pause says so.
    private func giveBack(_ pauses: [Pause]) {
        guard !pauses.isEmpty else { return }
        let paused = active.paused(by: pauses)
        guard !paused.isEmpty else { return }
        logger.info("attempts were paused", metadata: ["count": "\(paused.count)"])
        active.abandon(paused)
    }

    /// Stops revoked attempts; a revocation is kept until its attempt has ended, so that the part
    /// file is still known after a crash in between.
    private func stop(
        _ revoked: [Fence],
        _ revocations: inout RevocationView
    ) async throws(StoreError) {
        let dropped = active.drop(postponed: revoked)
        for claim in dropped { fairShare.with { $0.ended(claim.fence, bytes: 0) } }
        let running = active.attempts(revoked)
        active.abandon(running)
        let ended = revocations.ended(
            revoked,
            running: Set(running.map(\.claim.fence)),
            dropped: Set(dropped.map(\.fence)),
            at: .now
        )
        if !ended.isEmpty { try await workers.removeRevocations(ended) }
    }
}

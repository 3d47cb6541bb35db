import Curl
import Logging
import TransferModel
import TransferStore

/// Fills free slots with tasks from the queue and hands ended attempts to the publisher.
struct Claimer {
    let store: TransferStore
    let identity: WorkerIdentity
    let container: Container
    let curl: CurlLoop
    let active: ActiveDownloads
    let publisher: Publisher
    let verifier: Verifier
    let configuration: EngineConfiguration
    let logger: Logger
    /// Called when a download has something that should be stored soon.
    let onCheckpoint: @Sendable () -> Void
    private let wakeSignal = WakeSignal()

    /// How long freed slots are gathered, so that a claim is worth its transaction.
    private static let gatherInterval: Duration = .milliseconds(4)
    /// Tasks asked for at once.
    private static let claimMax = 256

    init(
        store: TransferStore,
        identity: WorkerIdentity,
        container: Container,
        curl: CurlLoop,
        active: ActiveDownloads,
        publisher: Publisher,
        verifier: Verifier,
        configuration: EngineConfiguration,
        logger: Logger,
        onCheckpoint: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.identity = identity
        self.container = container
        self.curl = curl
        self.active = active
        self.publisher = publisher
        self.verifier = verifier
        self.configuration = configuration
        self.logger = logger
        self.onCheckpoint = onCheckpoint
    }

    /// Looks for runnable tasks now.
    func wake() { wakeSignal.signal() }

    /// Claims until cancelled.
    func run() async {
        var position = Lane(key: .min)
        while !Task.isCancelled {
            await wakeSignal.wait()
            if active.count > 0 {
                do { try await Task.sleep(for: Self.gatherInterval) } catch { return }
            }
            do throws(StoreError) {
                try await fill(from: &position)
            } catch {
                // The poll comes back; until then nothing is lost, only later.
                logger.debug("no claim", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Claims as long as there are slots and tasks for them, host after host and round again.
    private func fill(from position: inout Lane) async throws(StoreError) {
        var isSecondRound = position.key == .min
        while !Task.isCancelled {
            let free = min(configuration.concurrency - active.count, Self.claimMax)
            guard free > 0, publisher.backlog < EngineConfiguration.backlogMax else { return }
            let claims = try await store.claim(
                TransferStore.ClaimBounds(
                    limit: free,
                    perLane: configuration.connectionsPerHost,
                    busy: active.busy,
                    after: position
                ),
                fences: identity.reserve(free)
            )
            for claim in claims { start(claim) }
            let lanes = Set(claims.map(\.lane.key))
            // A claim that was cut short, by slots or by hosts, may have left something behind it.
            let isCutShort = claims.count == free || lanes.count == TransferStore.claimLanesMax
            if let last = lanes.max(), isCutShort {
                position = Lane(key: last)
            } else if isSecondRound {
                position = Lane(key: .min)
                return
            } else {
                isSecondRound = true
                position = Lane(key: .min)
            }
        }
    }

    private func start(_ claim: TaskClaim) {
        guard !active.postpone(claim) else { return }
        do throws(CurlError) {
            let url = try CurlURL(claim.url)
            let download = Download(
                claim,
                url: url,
                loop: curl,
                container: container,
                configuration: configuration,
                onCheckpoint: onCheckpoint,
                onEnd: { ended($0) }
            )
            guard active.insert(download) else {
                publisher.submit(
                    .conclusion(
                        Conclusion(task: claim.task, fence: claim.fence, verdict: .released),
                        part: nil
                    )
                )
                return
            }
            download.start(url)
        } catch {
            let verdict = Conclusion.Verdict.failed(TransferFailure(error))
            publisher.submit(
                .conclusion(
                    Conclusion(task: claim.task, fence: claim.fence, verdict: verdict),
                    part: nil
                )
            )
        }
    }

    /// An attempt has ended; called on the curl loop's thread.
    private func ended(_ ending: Download.Ending) {
        if let resumption = ending.resumption { publisher.submit(.resumption(resumption)) }
        if let dropped = ending.dropped { publisher.submit(.abandoned(dropped)) }
        switch ending.end {
        case .finished(let result):
            if let part = ending.part {
                finish(ending, part, result)
            } else {
                conclude(ending, .requeued)
            }
        case .failed(let failure): fail(ending, failure)
        case .abandoned:
            // Refused by the fence if it was revoked; else the task is free for others at once.
            conclude(ending, .released)
        }
        // After the entry, so that a stopping worker never sees neither slot nor entry.
        let postponed = active.remove(ending.claim)
        if let postponed { start(postponed) }
        wake()
    }

    /// Publishes a whole file whose checksums are right.
    private func finish(_ ending: Download.Ending, _ part: PartFile, _ result: TransferResult) {
        func settle(_ failure: TransferFailure?) {
            guard let failure else {
                publisher.submit(
                    .part(part, Publication(of: ending, partFence: part.fence, result: result))
                )
                return
            }
            var ending = ending
            // Wrong bytes are not gone on with.
            ending.partial = nil
            fail(ending, failure)
        }
        if let found = ending.found {
            settle(Verifier.failure(wanted: ending.wanted, found: found))
        } else {
            publisher.expect()
            // Not waited for on the curl loop's thread; the publisher counts it until it is there.
            Task {
                settle(await verifier.failure(of: part, wanted: ending.wanted))
                publisher.arrived()
            }
        }
    }

    private func fail(_ ending: Download.Ending, _ failure: TransferFailure) {
        let policy = configuration.retryPolicy.overridden(by: ending.claim.options)
        let decision = policy.decision(
            after: failure,
            attempt: ending.claim.number,
            remaining: ending.remaining,
            chance: .random(in: 0..<1)
        )
        switch decision {
        case .retry(let delay): conclude(ending, .retry(failure, after: delay))
        case .giveUp: conclude(ending, .failed(failure))
        }
    }

    private func conclude(_ ending: Download.Ending, _ verdict: Conclusion.Verdict) {
        publisher.submit(
            .conclusion(
                Conclusion(
                    task: ending.claim.task,
                    fence: ending.claim.fence,
                    verdict: verdict,
                    bytesReceived: ending.bytesReceived,
                    partial: ending.partial,
                    metrics: ending.metrics
                ),
                part: ending.part
            )
        )
    }
}

extension Publication {
    /// What a finished attempt publishes.
    init(of ending: Download.Ending, partFence: Fence, result: TransferResult) {
        let claim = ending.claim
        self.init(
            task: claim.task,
            fence: claim.fence,
            partFence: partFence,
            tenant: claim.tenant,
            session: claim.session,
            number: claim.number,
            destination: claim.destination,
            result: result,
            metrics: ending.metrics
        )
    }
}

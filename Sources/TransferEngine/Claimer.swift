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
    let configuration: EngineConfiguration
    let logger: Logger
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
        configuration: EngineConfiguration,
        logger: Logger
    ) {
        self.store = store
        self.identity = identity
        self.container = container
        self.curl = curl
        self.active = active
        self.publisher = publisher
        self.configuration = configuration
        self.logger = logger
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
        do throws(CurlError) {
            let url = try CurlURL(claim.url)
            let download = Download(
                claim,
                url: url,
                loop: curl,
                container: container,
                configuration: configuration,
                onEnd: { ended($0) }
            )
            guard active.insert(download) else {
                conclude(claim, .released, part: nil)
                return
            }
            download.start(url)
        } catch {
            conclude(claim, .failed(TransferFailure(error)), part: nil)
        }
    }

    /// An attempt has ended; called on the curl loop's thread.
    private func ended(_ ending: Download.Ending) {
        let claim = ending.claim
        switch ending.end {
        case .finished(let result):
            if let part = ending.part {
                publisher.submit(.part(part, Publication(of: claim, result: result)))
            } else {
                conclude(claim, .requeued, part: nil)
            }
        case .failed(let failure):
            let decision = configuration.retryPolicy.decision(
                after: failure,
                attempt: claim.number,
                chance: .random(in: 0..<1)
            )
            let verdict: Conclusion.Verdict =
                switch decision {
                case .retry(let delay): .retry(failure, after: delay)
                case .giveUp: .failed(failure)
                }
            conclude(claim, verdict, part: ending.part, bytes: ending.bytesReceived)
        case .abandoned:
            // Refused by the fence if it was revoked; else the task is free for others at once.
            conclude(claim, .released, part: ending.part)
        }
        // After the entry, so that a stopping worker never sees neither slot nor entry.
        active.remove(claim)
        wake()
    }

    private func conclude(
        _ claim: TaskClaim,
        _ verdict: Conclusion.Verdict,
        part: PartFile?,
        bytes: Int64 = 0
    ) {
        publisher.submit(
            .conclusion(
                Conclusion(
                    task: claim.task,
                    fence: claim.fence,
                    verdict: verdict,
                    bytesReceived: bytes
                ),
                part: part?.place
            )
        )
    }
}

extension Publication {
    /// What a finished attempt publishes.
    init(of claim: TaskClaim, result: TransferResult) {
        self.init(
            task: claim.task,
            fence: claim.fence,
            partFence: claim.fence,
            tenant: claim.tenant,
            session: claim.session,
            number: claim.number,
            destination: claim.destination,
            result: result
        )
    }
}

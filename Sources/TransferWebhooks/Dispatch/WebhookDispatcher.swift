package import Curl
package import Foundation
package import Logging
import PollLoop
import ServiceLifecycle
import Synchronization
package import TransferModel
import TransferStore

/// A service that delivers the events of sessions to subscriptions as signed webhooks.
///
/// The unit of work is a pair of subscription and session. Its messages are sent one after another
/// in the order of events, and the next only after the previous one was answered with 2xx. A
/// receiver that fails blocks its own pair alone. All state is in the store, so any instance
/// continues where another stopped; a crash between answer and record delivers a message a second
/// time, with the same identifier and bytes.
package final class WebhookDispatcher: Service {
    /// The state that many threads share.
    struct State {
        var slots: DeliverySlots<HeldDelivery>
        /// What found no place, to be claimed before its time if there is one.
        var postponed: PostponedDeliveries
        /// Whether the last claim got as many as it asked for, so that more are probably due.
        var hasMore = false
        /// Whether the last claim found something due, so that the next one probably does.
        var foundDue = false
        /// The number of claims that have failed since the last successful one.
        var claimFailures = 0
        /// The last claim when no answer to it arrived: nobody would deliver its pairs before its
        /// lease is over.
        var lostClaim: (fences: WorkerIdentity.Reservation, limit: Int)?
        /// The time before which the store is not asked for claims again.
        var claimableAt: ContinuousClock.Instant?
    }

    /// The most releases at once while stopping: as many as a pool has connections, or somewhat
    /// more.
    private static let releasesMax = 8
    /// The least time between two looks of the poll.
    private static let pollWaitMin: Duration = .milliseconds(100)

    let stores: WebhookStores
    let worker: WorkerIdentity
    package let sender: WebhookSender
    let schedule: DeliverySchedule
    let health: DeliveryHealth
    let bounds: DeliveryBounds
    let latestDate: @Sendable () -> Date?
    let logger: Logger
    let outages: OutageLog
    let failureLog: DeliveryFailureLog
    let stopping = StopFlag()
    let composer: MessageComposer
    let recorder: DeliveryRecorder
    let rates = DeliveryRates()
    let failures = RecentFailures()
    private let replayer: WebhookReplayer
    let state: Mutex<State>
    /// The wake-ups, at most one at a time: a wake-up says "look", not "how much".
    private let wakeups = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    /// A stream that finishes when the last pair has ended after ``drain()`` began.
    private let idle = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - stores: where pairs, cursors and events are.
    ///   - worker: this instance's registration, which somebody else keeps alive.
    ///   - curl: a loop of the dispatcher's own: subscribers never share connections with origins.
    ///   - egress: decides which addresses subscribers may have, at every try.
    ///   - schedule: how long failed messages wait.
    ///   - health: when subscriptions to which nothing gets through are spared and disabled.
    ///   - bounds: how much is done at once.
    ///   - linkBase: the service's public URL, for links in messages; nil for relative ones.
    ///   - version: of this program, for the `user-agent`.
    ///   - now: the time of day.
    ///   - latestDate: the latest date that the database's clock can show; nil if nobody knows.
    ///   - logger: gets lines for failed tries, without URLs or secrets.
    package init(
        stores: WebhookStores,
        worker: WorkerIdentity,
        curl: CurlLoop,
        egress: EgressGuard,
        schedule: DeliverySchedule = .default,
        health: DeliveryHealth = DeliveryHealth(),
        bounds: DeliveryBounds = DeliveryBounds(),
        linkBase: String? = nil,
        version: String,
        now: @escaping @Sendable () -> Date = { Date() },
        latestDate: @escaping @Sendable () -> Date? = { nil },
        logger: Logger
    ) {
        precondition(bounds.lease > bounds.leaseMargin, "a lease must cover a few tries")
        self.stores = stores
        self.worker = worker
        self.schedule = schedule
        self.health = health
        self.bounds = bounds
        self.latestDate = latestDate
        self.logger = logger
        sender = WebhookSender(
            curl: curl,
            egress: egress,
            version: version,
            bounds: bounds,
            now: now
        )
        outages = OutageLog(logger: logger)
        failureLog = DeliveryFailureLog(logger: logger)
        composer = MessageComposer(wakeUps: stores.wakeUps, linkBase: linkBase)
        recorder = DeliveryRecorder(outages: outages, stopping: stopping)
        replayer = WebhookReplayer(
            stores: stores,
            worker: worker,
            sender: sender,
            composer: composer,
            recorder: recorder,
            rates: rates,
            schedule: schedule,
            health: health,
            bounds: bounds,
            outages: outages,
            stopping: stopping
        )
        state = Mutex(
            State(
                slots: DeliverySlots(bounds: bounds),
                postponed: PostponedDeliveries(bounds)
            )
        )
    }

    /// Looks for what the signals announce, now and not at the next poll.
    package func wake(for signals: Set<Signal>) {
        if signals.contains(.deliveries) { wake() }
        if signals.contains(.replays) { replayer.wake() }
    }

    /// Delivers until a graceful shutdown or a cancellation; may be called once.
    ///
    /// On a shutdown nothing new is started, messages in flight get the grace to be answered, and
    /// all pairs are given back for others to continue.
    package func run() async {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.poll() }
                group.addTask { await self.replayer.run() }
                wake(for: [.deliveries, .replays])
                for await _ in wakeups.stream { await claimDue(&group) }
                await drain()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.wakeups.continuation.finish()
            self.replayer.stop()
        }
    }

    var isDraining: Bool { Task.isCancelled || stopping.isSet }

    /// Looks for due pairs now.
    func wake() { wakeups.continuation.yield() }

    /// Wakes the dispatcher for work without a signal: waits that ended, slots that receivers have
    /// lost, and events of other instances.
    private func poll() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: pollWait)
            state.withLock { $0.requestStartable(at: .now) }
            wake()
            replayer.wake()
        }
    }

    private var pollWait: Duration {
        let wait = bounds.pollInterval.jittered
        guard let end = state.withLock({ $0.slots.nextTrialEnd }) else { return wait }
        return min(wait, max(end - .now, Self.pollWaitMin))
    }

    private func drain() async {
        stopping.set()
        let (waiting, isIdle) = state.withLock { state in
            let waiting = state.slots.drain()
            return (waiting, state.slots.runningCount == 0)
        }
        if isIdle { idle.continuation.finish() }
        async let isGivenBack: Void = giveBack(waiting)
        await withTaskGroup { group in
            group.addTask { for await _ in self.idle.stream {} }
            group.addTask { try? await Task.sleep(for: self.bounds.shutdownGrace) }
            await group.next()
            group.cancelAll()
        }
        await isGivenBack
    }

    /// Releases pairs that were claimed but not started, so that others need not await their
    /// leases.
    private func giveBack(_ waiting: [HeldDelivery]) async {
        await withDiscardingTaskGroup { group in
            for first in 0..<min(Self.releasesMax, waiting.count) {
                group.addTask {
                    for index in stride(from: first, to: waiting.count, by: Self.releasesMax) {
                        // Without a store their leases free them, and a shutdown does not wait.
                        guard !self.outages.isStoreAway else { return }
                        await self.release(waiting[index])
                    }
                }
            }
        }
    }

    /// Gives back the slot of a pair.
    ///
    /// - Returns: a pair to deliver in its place.
    func end(_ held: HeldDelivery) -> HeldDelivery? {
        let (next, isIdle, mustWake) = state.withLock { state in
            state.slots.ended(held.claim.subscription, at: .now)
            let next = state.slots.next(at: .now)
            let isIdle = state.slots.isDraining && state.slots.runningCount == 0
            let isRecalling = state.requestRecall(of: held.claim.subscription)
            // The end of one pair may let several others start.
            let mayStartMore = next == nil ? state.hasMore : state.slots.hasNext
            return (next, isIdle, isRecalling || mayStartMore)
        }
        if isIdle { idle.continuation.finish() }
        if mustWake { wake() }
        return next
    }
}

extension WebhookDispatcher.State {
    /// Asks for postponed pairs that could be started now although nothing of their subscriptions
    /// has ended: they were postponed because others had the slots.
    mutating func requestStartable(at now: ContinuousClock.Instant) {
        guard !slots.areAllTaken else { return }
        for subscription in slots.startable(postponed.next(at: now)) {
            postponed.request(subscription)
        }
    }
}

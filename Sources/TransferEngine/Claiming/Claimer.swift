import Foundation
import Logging
import TransferModel
import TransferStore

/// The loop that fills free slots with tasks from the queue.
struct Claimer {
    let store: QueueStore
    let identity: WorkerIdentity
    let active: ActiveAttempts
    let fairShare: SharedFairShare
    let shards: ShardLeaser
    let reachability: Reachability
    let starter: AttemptStarter
    let completer: AttemptCompleter
    let configuration: EngineConfiguration
    let shortages: Shortages
    /// The claims that the database may have made without their answer arriving here.
    let unanswered: UnansweredClaims
    let failures: ClaimFailures
    let signal: QueueSignal
    let pace: ClaimPace
    let logger: Logger

    /// The time for which freed slots are gathered, so that a claim is worth its transaction;
    /// meanwhile the tasks claimed ahead start.
    private static let gatherInterval: Duration = .milliseconds(8)
    /// The same while there may be tasks of others, who have none claimed ahead.
    private static let addedInterval: Duration = .milliseconds(2)
    /// The maximum number of tasks asked for at once.
    private static let claimMax = 256
    /// The longest time it claims without attending to anything else.
    private static let fillMax: Duration = .milliseconds(20)
    /// The time after which it checks again whether the completer has caught up.
    private static let backlogPause: Duration = .milliseconds(10)

    /// Claims until cancelled.
    func run() async {
        var queue = QueueScan()
        var pace = pace
        while !Task.isCancelled {
            await signal.wait()
            if active.count > 0 {
                let interval = signal.hasAdded ? Self.addedInterval : Self.gatherInterval
                do { try await Task.sleep(for: interval) } catch { return }
            }
            do throws(StoreError) {
                try await shards.tend(&queue)
                active.beginWaiting(in: fairShare.with { $0.shards })
                try await fill(&queue, &pace)
                giveWay()
                // Otherwise what has to wait would wait for whatever wakes the loop next.
                let wakeUps = [
                    queue.takeWakeUp(at: .now), pace.takeWakeUp(at: .now),
                    fairShare.with { $0.takeWakeUp() },
                ]
                for delay in wakeUps.compactMap(\.self) { wake(after: delay) }
            } catch {
                // The next poll tries again; until then nothing is lost, only delayed.
                logger.debug("claim failed", metadata: ["error": "\(error)"])
                failures.failed(error)
            }
        }
    }

    /// Claims as long as there are slots for as many tasks as one claim takes, and nothing else is
    /// due; slots that become free during a claim are gathered for the next.
    private func fill(
        _ queue: inout QueueScan,
        _ pace: inout ClaimPace
    ) async throws(StoreError) {
        if signal.takeAdded() { queue.isStale = true }
        queue.name(signal.takeHosts())
        if signal.takePolled() { queue.isPolled = true }
        _ = try await look(at: &queue)
        try await look(at: queue.takeHosts())
        let end = ContinuousClock.now + Self.fillMax
        // Once there is enough again, the loop is woken.
        while !Task.isCancelled, shortages.isNone {
            guard completer.hasRoom else {
                return wake(after: Self.backlogPause)
            }
            guard .now < end else { return signal.freed() }
            // Tasks that cannot be started are not claimed; a poll comes back when they can.
            guard identity.isTrusted(at: .now) else { return }
            let room = pace.room(at: .now)
            let (grants, bound) = fairShare.with { share in
                let grants = share.grants(
                    Self.claimMax,
                    isOpenHour: configuration.discretionaryHours.contains(Date()),
                    isClosed: reachability.isClosed,
                    room: room
                )
                return (grants, share.boundTenants(of: grants))
            }
            guard !grants.isEmpty else {
                guard try await look(at: &queue) else { return }
                continue
            }
            let count = grants.reduce(0) { $0 + $1.count }
            let fences = identity.reserve(count)
            let claims: [TaskClaim]
            do throws(StoreError) {
                // A registration other than the one that has the shards claims nothing.
                claims =
                    fences.incarnation == queue.incarnation
                    ? try await store.claim(grants, boundTenants: bound, fences: fences) : []
            } catch {
                unanswered.note(fences, count: count)
                fairShare.with { $0.took([], of: grants) }
                queue.isStale = true
                throw error
            }
            if fences.incarnation == queue.incarnation { failures.ended() }
            // Before any of them can end.
            fairShare.with { $0.took(claims, of: grants) }
            pace.note(claims.lazy.map(\.tenant), at: .now)
            // The task served first gets the connection that is free; the others were claimed
            // ahead.
            starter.begin(claims.inOrder(of: grants))
            guard count == Self.claimMax else { return signal.freed() }
        }
    }

    /// Gives back attempts whose places others have waited for in vain.
    private func giveWay() {
        let unconnected = fairShare.with(\.isShared) ? active.unconnected : []
        let fences = fairShare.with { $0.givingWay(unconnected: unconnected) }
        guard !fences.isEmpty else { return }
        logger.info(
            "attempts gave way to other tenants",
            metadata: ["count": "\(fences.count)"]
        )
        active.abandon(active.attempts(fences))
    }

    private func wake(after pause: Duration) {
        Task {
            // If the sleep is cut short, there is only one wake-up too many.
            try? await Task.sleep(for: pause)
            signal.freed()
        }
    }

    /// Looks for flows that have tasks, as far as it is worthwhile.
    ///
    /// - Returns: whether any were found.
    private func look(at queue: inout QueueScan) async throws(StoreError) -> Bool {
        let hostKeys = fairShare.with { $0.shards.hostKeys }
        let begin = ContinuousClock.now
        guard !hostKeys.isEmpty else {
            failures.ended()
            return false
        }
        guard queue.mayLook(at: begin) else { return false }
        let isWhole = queue.position == nil
        let flows = try await store.waitingFlows(in: hostKeys, after: queue.position)
        let isComplete = fairShare.with { $0.note(flows.filter(\.mayBegin)) }
        queue.looked(
            from: begin,
            to: .now,
            foundUpTo: flows.count < QueueStore.flowsMax ? nil : flows.last?.flow
        )
        if isWhole, !flows.contains(where: \.mayBegin) { failures.ended() }
        // Flows that found no room are looked for again.
        if !isComplete { queue.isStale = true }
        return !flows.isEmpty
    }

    /// Looks for flows at these hosts.
    private func look(at hosts: Set<HostKey>) async throws(StoreError) {
        let hostKeys = fairShare.with { share in
            hosts.filter { share.shards.contains($0.shard) }.map(\.rawValue).sorted()
        }
        guard !hostKeys.isEmpty else { return }
        let flows = try await store.waitingFlows(in: hostKeys.map { $0...$0 })
        _ = fairShare.with { $0.note(flows.filter(\.mayBegin)) }
    }
}

extension [TaskClaim] {
    fileprivate func inOrder(of grants: [FlowGrant]) -> [TaskClaim] {
        // For the tasks of a single tenant the order does not matter.
        guard contains(where: { $0.tenant != first?.tenant }) else { return self }
        let places = Dictionary(
            zip(grants.map(\.flow), grants.indices),
            uniquingKeysWith: { first, _ in first }
        )
        return enumerated().sorted { left, right in
            (places[left.element.flow] ?? grants.count, left.offset)
                < (places[right.element.flow] ?? grants.count, right.offset)
        }
        .map(\.element)
    }
}

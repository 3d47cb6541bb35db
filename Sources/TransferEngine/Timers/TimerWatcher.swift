import TransferModel
import TransferStore

/// The part of the engine that does what is due for clients and their background tasks.
struct TimerWatcher: Sendable {
    /// The shortest pause, while what is due is held by others.
    private static let pauseMin: Duration = .milliseconds(20)

    let timers: TimerStore
    /// The database's clock, which the promoter reads: what ends by one that was set ahead for a
    /// moment stays ended.
    let clock: SharedDatabaseClock
    let network: NetworkStatus
    /// Whether the operator says that there is room for work that can wait.
    let isCapacityIdle: Bool
    /// The longest time without a look, should a signal be lost.
    let interval: Duration
    /// Called when events were committed.
    let onEvents: @Sendable () -> Void
    /// Called when running attempts may have to stop.
    let onCancelled: @Sendable () -> Void

    /// Does a bounded part of what is due, as close to its time as that of the next is known.
    func turn() async throws(StoreError) -> Chore.Next {
        guard let wait = try await timers.untilNextTimer(notAfter: clock.latest) else {
            return .after(interval)
        }
        guard wait == .zero else { return .after(min(wait, interval)) }
        var count = 0
        var failure: StoreError?
        // One kind that cannot be looked at holds up no other.
        let parts: [() async throws(StoreError) -> Int] = [
            advanceClients, advanceRuns, launchDue,
        ]
        for advance in parts {
            do throws(StoreError) {
                count += try await advance()
            } catch {
                failure = failure ?? error
            }
        }
        if count > 0 { onEvents() }
        if let failure { throw failure }
        return count > 0 ? .more : .after(Self.pauseMin)
    }

    private func advanceClients() async throws(StoreError) -> Int {
        try await timers.advanceClients(notAfter: clock.latest)
    }

    private func advanceRuns() async throws(StoreError) -> Int {
        try await timers.advanceRuns(notAfter: clock.latest)
    }

    /// Decides about the requests whose time has come.
    ///
    /// - Returns: the number of decisions that were carried out.
    private func launchDue() async throws(StoreError) -> Int {
        let requests = try await timers.dueRequests(notAfter: clock.latest)
        guard !requests.isEmpty else { return 0 }
        let conditions = LaunchConditions(
            hasNetwork: network.isReachable,
            isCapacityIdle: isCapacityIdle
        )
        let decisions = requests.map { (request: $0, decision: LaunchDecision($0, conditions)) }
        do throws(StoreError) {
            return try await timers.decide(decisions)
        } catch {
            guard !error.isUnavailable else { throw error }
            return try await launchSeparately(decisions)
        }
    }

    /// Carries decisions out one by one and puts those requests off that fail, so that a request
    /// with which something is wrong holds up no other.
    ///
    /// - Returns: the number of decisions that were carried out; none failed.
    /// - Throws: the first failure, after all have been tried.
    private func launchSeparately(
        _ decisions: [(request: DueRequest, decision: LaunchDecision)]
    ) async throws(StoreError) -> Int {
        var count = 0
        // A failure is all that the turn hears of.
        defer { if count > 0 { onEvents() } }
        var failure: StoreError?
        for decision in decisions {
            do throws(StoreError) {
                count += try await timers.decide([decision])
            } catch {
                guard !error.isUnavailable else { throw error }
                try await timers.putOff([decision.request.id])
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return count
    }

    /// Cancels transfers of runs that have expired.
    func cancelTransfers() async throws(StoreError) -> Chore.Next {
        try await timers.cancelTransfers { _ in onCancelled() } ? .more : .rest
    }
}

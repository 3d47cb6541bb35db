package import Foundation

/// What is done about a request whose time has come.
package enum LaunchDecision: Equatable, Sendable {
    /// It is launched; a request that recurs then waits for its next occurrence.
    case launch(next: Date?)
    /// It waits; without a time, until somebody says that what it waits for is there.
    case wait(RequestWait.Reason, until: Date?)
    /// Its occurrence was missed, and is left out; nil when there is no other.
    case skip(next: Date?)

    /// Decides what is done about `request` under these conditions.
    package init(_ request: DueRequest, _ conditions: LaunchConditions = LaunchConditions()) {
        let facts = request.facts
        let jitter = request.recurrence?.jitter ?? .zero
        // None is missed before its longest delay is over, which may be longer than their period.
        let settledAt = facts.now - jitter / .seconds(1)
        let next = request.recurrence?.next(after: request.occurrenceAt, now: settledAt)
        // The time that the client wants between two launches is no lateness.
        var expectedAt = request.occurrenceAt
        if let least = request.minInterval, let last = facts.lastLaunchedAt {
            expectedAt = max(expectedAt, last + least / .seconds(1))
        }
        let lateness = facts.now.timeIntervalSince(expectedAt)
        if let recurrence = request.recurrence, recurrence.missed == .skip,
            // These waits are its own, and end later than its occurrence.
            request.reason != .interval, request.reason != .relaunch,
            lateness > (Recurrence.missedAfter + jitter) / .seconds(1)
        {
            self = .skip(next: next)
            return
        }
        if let wait = Self.wait(request, conditions) {
            self = wait
        } else {
            self = .launch(next: next)
        }
    }

    private static func wait(
        _ request: DueRequest,
        _ conditions: LaunchConditions
    ) -> LaunchDecision? {
        let facts = request.facts
        if facts.isClientForceQuit { return .wait(.clientForceQuit, until: nil) }
        if facts.isDisabled { return .wait(.disabled, until: nil) }
        if let least = request.minInterval, let last = facts.lastLaunchedAt {
            let earliest = last + least / .seconds(1)
            if earliest > facts.now { return .wait(.interval, until: earliest) }
        }
        if facts.isRunning { return .wait(.run, until: nil) }
        if facts.openRuns >= BackgroundTaskRun.openMax { return .wait(.budget, until: nil) }
        if facts.isUnheard { return .wait(.subscription, until: nil) }
        if request.requiresNetworkConnectivity, !conditions.hasNetwork {
            return .wait(.network, until: nil)
        }
        if request.requiresExternalPower, !facts.isCapacityIdle || !conditions.isCapacityIdle {
            return .wait(.capacity, until: nil)
        }
        return nil
    }
}

package import Foundation

/// A request whose time has come, with all that decides whether it is launched.
package struct DueRequest: Sendable {
    package let id: BackgroundTaskRequestID
    package let clientID: UUID
    package let kind: BackgroundTaskKind
    /// The number of launches so far, which guards the decision: only one is made on each.
    package let launches: Int32
    package let reason: RequestWait.Reason
    /// The nominal time of its occurrence.
    package let occurrenceAt: Date
    package let recurrence: Recurrence?
    package let minInterval: Duration?
    package let requiresNetworkConnectivity: Bool
    package let requiresExternalPower: Bool
    package let facts: Facts

    /// The state of what is around a request, by the database's clock.
    package struct Facts: Sendable {
        package var now: Date
        package var lastLaunchedAt: Date?
        /// Whether its client was force-quit.
        package var isClientForceQuit = false
        /// Whether its tenant has background tasks switched off.
        package var isDisabled = false
        /// Whether a launch of the identifier is running.
        package var isRunning = false
        /// The number of runs of its client that have not ended.
        package var openRuns: Int64 = 0
        /// Whether those who want to hear of the launch are all disabled.
        package var isUnheard = false
        /// Whether its tenant has room for work that can wait.
        package var isCapacityIdle = true

        package init(now: Date) { self.now = now }
    }

    package init(
        id: BackgroundTaskRequestID,
        clientID: UUID,
        kind: BackgroundTaskKind,
        launches: Int32,
        reason: RequestWait.Reason,
        occurrenceAt: Date,
        recurrence: Recurrence?,
        minInterval: Duration?,
        requiresNetworkConnectivity: Bool,
        requiresExternalPower: Bool,
        facts: Facts
    ) {
        self.id = id
        self.clientID = clientID
        self.kind = kind
        self.launches = launches
        self.reason = reason
        self.occurrenceAt = occurrenceAt
        self.recurrence = recurrence
        self.minInterval = minInterval
        self.requiresNetworkConnectivity = requiresNetworkConnectivity
        self.requiresExternalPower = requiresExternalPower
        self.facts = facts
    }
}

package import Foundation

/// A client's request to be launched for a background task, as it was submitted.
package struct BackgroundTaskRequest: Sendable {
    /// What becomes of a request for continued processing that cannot run at once.
    package enum Strategy: String, CaseIterable, Sendable {
        case queue
        case fail
    }

    package let identifier: BackgroundTaskIdentifier
    /// The earliest time of the first launch; nil for any.
    package var earliestBeginAt: Date?
    /// Whether it waits while the network cannot be reached.
    package var requiresNetworkConnectivity = false
    /// Whether it waits for idle capacity, where an app would wait for a charger.
    package var requiresExternalPower = false
    /// The least time between two launches of the identifier; nil for none.
    package var minInterval: Duration?
    package var recurrence: Recurrence?
    /// Whether the transfers linked to a run are cancelled when it expires.
    package var cancelsTransfersAtExpiry = false
    /// Whether a run is complete when the transfers linked to it have ended.
    package var completesWithTransfers = false
    /// The words shown to the user, of continued processing.
    package var title: String?
    package var subtitle: String?
    /// What becomes of continued processing that cannot run at once.
    package var strategy = Strategy.queue

    package init(identifier: BackgroundTaskIdentifier) { self.identifier = identifier }

    /// The range of ``minInterval``.
    package static let minIntervalRange: ClosedRange<Double> = 1...(366 * 86_400)
    /// The longest title or subtitle in bytes.
    package static let titleBytesMax = 200
}

extension BackgroundTaskRequest {
    /// Whether a handler of that kind has a use for all that the request says.
    package func fits(_ kind: BackgroundTaskKind) -> Bool {
        let hasWords = title != nil || subtitle != nil || strategy != .queue
        switch kind {
        case .appRefresh: return !hasWords && !requiresExternalPower
        case .processing: return !hasWords
        // A user who has begun it waits for it: it neither recurs nor has a date.
        case .continuedProcessing:
            return title != nil && recurrence == nil && earliestBeginAt == nil
                && minInterval == nil && !requiresExternalPower
        }
    }
}

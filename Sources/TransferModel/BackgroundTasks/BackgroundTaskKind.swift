/// The kind of a background task; the raw value is the one in the API and in the database.
package enum BackgroundTaskKind: String, CaseIterable, Sendable {
    /// A short one that keeps a client's content current, as `BGAppRefreshTask`.
    case appRefresh = "app_refresh"
    /// A long one that may wait for network and capacity, as `BGProcessingTask`.
    case processing
    /// One that a user has begun and watches, as `BGContinuedProcessingTask`.
    case continuedProcessing = "continued_processing"

    /// The most requests of the kind that a client may have pending.
    package var pendingMax: Int64 { self == .appRefresh ? 1 : 10 }

    /// The longest time that a run may take, with all its extensions.
    package var runTimeMax: Duration {
        switch self {
        case .appRefresh: .seconds(600)
        case .processing: .seconds(6 * 3600)
        case .continuedProcessing: .seconds(24 * 3600)
        }
    }
}

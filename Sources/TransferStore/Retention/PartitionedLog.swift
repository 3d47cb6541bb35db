/// A table to which rows are only added, in partitions of a week each.
package enum PartitionedLog: String, CaseIterable, Sendable {
    case events = "event_run"
    case feed = "event_feed"
    case attempts = "attempt_log"

    /// The column by which the log is partitioned.
    var time: String {
        switch self {
        case .events: "occurred_at"
        case .feed: "last_occurred_at"
        case .attempts: "ended_at"
        }
    }
}

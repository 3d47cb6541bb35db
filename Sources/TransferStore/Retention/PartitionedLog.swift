import Postgres

/// A table to which rows are only added, in partitions of a week each.
package enum PartitionedLog: String, CaseIterable, Sendable {
    case events = "event_run"
    case attempts = "attempt_log"

    /// The settings of its partitions, which they do not take over from the log.
    var storage: Query {
        switch self {
        // Runs of events stay in line.
        case .events: "WITH (toast_tuple_target = 8160)"
        case .attempts: ""
        }
    }

    /// The column by which the log is partitioned.
    var time: String {
        switch self {
        case .events: "occurred_at"
        case .attempts: "ended_at"
        }
    }
}

/// The observations of a campaign from outside, which ``ChaosChecker`` judges.
///
/// They come from its clients, its receivers, its origin and the disk.
struct ChaosHistory: Sendable {
    /// A task that the service has accepted.
    struct Task: Sendable {
        let id: String
        let session: String
        let asked: ChaosTask
        /// The final state of the task; nil when the task no longer exists, as in an invalidated
        /// session.
        var state: String?
        var failureCode: String?
        /// The digest of the bytes that the service serves; nil when it serves none.
        var contentDigest: String?
    }

    /// A cancellation that was answered with 2xx.
    struct Cancellation: Sendable {
        let task: String
        /// The time in seconds since the start.
        let answeredAt: Double
    }

    struct Event: Sendable, Equatable {
        let id: String
        let sequence: Int64
        var type: String
        let generation: Int64
        var task: String?
        var taskState: String?
        /// The numbers of completed, failed and cancelled tasks, in an event that ends a
        /// generation.
        var counts: [Int64]?
    }

    /// The final state of a session.
    struct Session: Sendable {
        let identifier: String
        var outstanding: Int64
        /// The numbers of its tasks by state, without zeros; nil for a session that no longer
        /// exists.
        var taskCounts: [String: Int64]?
        /// Whether its log could be read to the end: the service returns nothing beyond a gap.
        var isWhole = true
        /// The events of its log.
        var events: [Event]
    }

    struct Message: Sendable {
        let id: String
        let session: String
        var bodyDigest: String
        /// The events in order.
        let events: [String]
        let isTaken: Bool
        var isSigned: Bool
    }

    struct Subscriber: Sendable {
        let path: String
        /// The types of events that it subscribes to; nil for all.
        let wants: Set<String>?
        /// The messages in order of arrival.
        var messages: [Message]
    }

    struct OriginRequest: Sendable {
        let path: String
        let method: String
        let arrivedAt: Double
    }

    var tasks: [Task] = []
    var cancellations: [Cancellation] = []
    /// The tasks for which a cancellation was requested, whatever the answer was.
    var unwanted: Set<String> = []
    var sessions: [Session] = []
    var subscribers: [Subscriber] = []
    var requests: [OriginRequest] = []
    /// The digests of all versions that the origin has served, by path.
    var served: [String: Set<String>] = [:]
    /// The digests of the files in the container, by path.
    var files: [String: String] = [:]
    /// The findings of `transferd verify`, the ends of processes, and refused batches.
    var findings: [String] = []
    /// All kinds of faults in the plan.
    var faults: Set<ChaosFault.Kind> = []
}

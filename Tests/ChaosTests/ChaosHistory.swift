/// What was seen of a campaign from outside, by its clients, its receivers, its origin and whoever
/// looks at the disk: all that ``ChaosChecker`` judges.
struct ChaosHistory: Sendable {
    /// A task that the service has accepted.
    struct Task: Sendable {
        let id: String
        let session: String
        let asked: ChaosTask
        /// As it says in the end; nil when it is not there any more, as in a session that was
        /// invalidated.
        var state: String?
        var failureCode: String?
        /// Of the bytes that the service gives out; nil when it gives out none.
        var contentDigest: String?
    }

    /// A cancellation that was answered with 2xx.
    struct Cancellation: Sendable {
        let task: String
        /// Seconds since the begin.
        let answeredAt: Double
    }

    struct Event: Sendable, Equatable {
        let id: String
        let sequence: Int64
        var type: String
        let generation: Int64
        var task: String?
        var taskState: String?
        /// Completed, failed and cancelled, of the end of a generation.
        var counts: [Int64]?
    }

    /// A session as it says in the end.
    struct Session: Sendable {
        let identifier: String
        var outstanding: Int64
        /// Of its tasks, by state, without zeros; nil of one that is gone.
        var taskCounts: [String: Int64]?
        /// Whether its log could be read to the end: the service tells nothing beyond a gap.
        var isWhole = true
        /// Its log.
        var events: [Event]
    }

    struct Message: Sendable {
        let id: String
        let session: String
        var bodyDigest: String
        /// In order.
        let events: [String]
        let isTaken: Bool
        var isSigned: Bool
    }

    struct Subscriber: Sendable {
        let path: String
        /// The types that it asks for; nil for all.
        let wants: Set<String>?
        /// In order of arrival.
        var messages: [Message]
    }

    struct OriginRequest: Sendable {
        let path: String
        let method: String
        let arrivedAt: Double
    }

    var tasks: [Task] = []
    var cancellations: [Cancellation] = []
    /// Tasks of which a cancellation was asked, whatever was answered.
    var unwanted: Set<String> = []
    var sessions: [Session] = []
    var subscribers: [Subscriber] = []
    var requests: [OriginRequest] = []
    /// Of all versions that the origin has served, by path.
    var served: [String: Set<String>] = [:]
    /// Of the files in the container, by path.
    var files: [String: String] = [:]
    /// What `transferd verify` has found, how processes ended, and batches that were refused.
    var findings: [String] = []
    /// All kinds of the plan.
    var faults: Set<ChaosFault.Kind> = []
}

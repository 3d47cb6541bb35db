import TransferClient
import TransferWire

/// How far transfers are, from what is reported of them; times are seconds of one clock.
///
/// It keeps the transfers that run, however many there are in all.
struct TransferProgress {
    /// A transfer that runs, or waits for another attempt.
    struct Transfer: Equatable {
        let name: String
        /// The state as the service names it, or `saving` and `sending` on this side of it.
        var state: String
        var bytes: Int64
        /// The expected number of bytes; nil while unknown.
        var total: Int64?
        /// The bytes per second; nil before the second report.
        var rate: Double?
        fileprivate var reportedAt: Double

        /// The seconds until the last byte, at this rate.
        var timeRemaining: Double? {
            guard let total, let rate, rate > 0 else { return nil }
            return Double(max(0, total - bytes)) / rate
        }
    }

    /// The time after which an older rate counts for a third.
    private static let rateMemory = 5.0
    /// The most transfers that a service can tell of.
    private static let countMax: Int64 = 1 << 53

    private(set) var completed: Int64
    private(set) var failed: Int64
    private(set) var cancelled: Int64
    private(set) var outstanding: Int64
    /// The transfers that run, in the order in which they were first heard of.
    private(set) var transfers: [(id: String, transfer: Transfer)] = []
    private(set) var isOver = false
    private var generation: Int64
    private let startedAt: Double
    private var endedSinceStart: Int64 = 0

    /// Starts without transfers.
    init(at time: Double) {
        (completed, failed, cancelled, outstanding) = (0, 0, 0, 0)
        generation = 0
        startedAt = time
    }

    /// Starts with what a session has.
    init(_ session: SessionDocument, at time: Double) {
        completed = Self.count(session.completed)
        failed = Self.count(session.failed)
        cancelled = Self.count(session.cancelled)
        outstanding = Self.count(session.outstanding)
        generation = session.generation
        startedAt = time
        isOver = session.outstanding == 0
    }

    /// Returns a number of transfers as a service tells it, between those that can be added up.
    private static func count(_ told: Int64) -> Int64 { min(max(told, 0), countMax) }

    /// Adds transfers that have not ended.
    mutating func add(_ count: Int) { outstanding += Int64(count) }

    /// The number of ended transfers.
    var ended: Int64 { completed + failed + cancelled }

    /// The rate of all running transfers together.
    var rate: Double { transfers.reduce(0) { $0 + ($1.transfer.rate ?? 0) } }

    /// Returns the seconds until the last transfer ends, at the pace since the start.
    func timeRemaining(at time: Double) -> Double? {
        guard endedSinceStart > 0, time > startedAt else { return nil }
        return Double(outstanding) * (time - startedAt) / Double(endedSinceStart)
    }

    /// Takes in how far a transfer is.
    mutating func report(
        _ id: String,
        name: String,
        state: String,
        bytes: Int64,
        of total: Int64?,
        at time: Double
    ) {
        // What is subtracted below has no negative numbers, whatever the service reports.
        let bytes = max(0, bytes)
        let total = total.map { max(0, $0) }
        guard let index = transfers.firstIndex(where: { $0.id == id }) else {
            let transfer = Transfer(
                name: name,
                state: state,
                bytes: bytes,
                total: total,
                reportedAt: time
            )
            transfers.append((id, transfer))
            return
        }
        var transfer = transfers[index].transfer
        let seconds = time - transfer.reportedAt
        if transfer.state != state || bytes < transfer.bytes {
            // Another attempt, or the other half of the way, has a rate of its own.
            transfer.rate = nil
            transfer.reportedAt = time
        } else if seconds > 0 {
            let newest = Double(bytes - transfer.bytes) / seconds
            let weight = seconds / (seconds + Self.rateMemory)
            transfer.rate = transfer.rate.map { $0 + (newest - $0) * weight } ?? newest
            transfer.reportedAt = time
        }
        (transfer.state, transfer.bytes, transfer.total) = (state, bytes, total)
        transfers[index].transfer = transfer
    }

    /// Takes in the end of a transfer: `completed`, `failed` or `cancelled`.
    mutating func end(_ id: String, _ change: TransferEvent.TaskChange) {
        transfers.removeAll { $0.id == id }
        switch change {
        case .completed: completed += 1
        case .failed: failed += 1
        default: cancelled += 1
        }
        outstanding = max(0, outstanding - 1)
        endedSinceStart += 1
    }

    /// Takes in an event of the session.
    mutating func apply(_ event: TransferEvent, at time: Double) {
        if event.generation > generation {
            generation = event.generation
            (completed, failed, cancelled, outstanding) = (0, 0, 0, 0)
            isOver = false
        }
        switch event.kind {
        case .task(let change, let task): apply(change, task, at: time)
        case .eventsFinished(let outcome):
            completed = Self.count(outcome.completed)
            failed = Self.count(outcome.failed)
            cancelled = Self.count(outcome.cancelled)
            outstanding = 0
            transfers = []
            isOver = true
        case .sessionInvalidated: isOver = true
        default: return
        }
    }

    private mutating func apply(
        _ change: TransferEvent.TaskChange,
        _ task: EventMessage.Task,
        at time: Double
    ) {
        switch change {
        case .created: outstanding += 1
        case .retried:
            outstanding += 1
            if task.error == nil {
                cancelled = max(0, cancelled - 1)
            } else {
                failed = max(0, failed - 1)
            }
        case .progress, .waiting:
            let isUpload = task.kind == "upload"
            let total =
                isUpload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
            report(
                task.id,
                name: task.clientPersistedString ?? task.url ?? task.id,
                state: task.state,
                bytes: isUpload ? task.countOfBytesSent ?? 0 : task.countOfBytesReceived,
                of: total.flatMap { $0 < 0 ? nil : $0 },
                at: time
            )
        case .completed, .failed, .cancelled: end(task.id, change)
        case .suspended: transfers.removeAll { $0.id == task.id }
        default: return
        }
    }
}

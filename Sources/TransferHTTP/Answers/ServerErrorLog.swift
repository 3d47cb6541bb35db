import Logging
import Synchronization
import TransferMetrics

/// The log of requests that the service could not answer: those with a status of 500 and above.
///
/// In an outage anybody can cause any number of them, also without a key: of each status as many
/// are written as of refusals, and the others are counted.
final class ServerErrorLog: Sendable {
    private let budgets = Mutex<[Int: LineBudget]>([:])
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// Writes a line, unless there were too many of its status in the last seconds.
    ///
    /// - Parameters:
    ///   - status: The status of the answer.
    ///   - metadata: What is known of the request, with the details that its client is not told.
    ///   - now: The present time.
    func add(status: Int, _ metadata: Logger.Metadata, at now: ContinuousClock.Instant = .now) {
        let taken = budgets.withLock { $0[status, default: LineBudget()].take(at: now) }
        guard let unwritten = taken else { return }
        var metadata = metadata
        if unwritten > 0 { metadata["unwritten_before"] = "\(unwritten)" }
        logger.error("request failed", metadata: metadata)
    }
}

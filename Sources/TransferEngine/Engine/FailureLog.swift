import Logging
import TransferStore

/// A log of recurring work: it records when the work starts to fail, fails for another reason, or
/// works again, and nothing in between.
struct FailureLog {
    private let name: String
    private let logger: Logger
    /// The last logged failure; nil when all was well.
    private var failure: String?

    init(_ name: String, logger: Logger) {
        self.name = name
        self.logger = logger
    }

    /// Does the work once.
    ///
    /// - Returns: nil when it fails.
    mutating func watch<Value>(
        _ work: () async throws(StoreError) -> Value
    ) async -> Value? {
        do throws(StoreError) {
            let value = try await work()
            if failure != nil { logger.notice("works again", metadata: ["what": "\(name)"]) }
            failure = nil
            return value
        } catch {
            let text = error.debugDescription
            // A failure because of cancellation is of no interest.
            guard text != failure, !Task.isCancelled else { return nil }
            failure = text
            logger.warning(
                "failed, will be tried again",
                metadata: ["what": "\(name)", "error": "\(text)"]
            )
            return nil
        }
    }
}

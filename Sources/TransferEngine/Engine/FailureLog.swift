import Logging
import TransferStore

/// Tells the log of something that is done again and again when it begins to fail, fails for another
/// reason, or works again; nothing in between.
struct FailureLog {
    private let name: String
    private let logger: Logger
    /// What the log was told last; nil when all was well.
    private var failure: String?

    init(_ name: String, logger: Logger) {
        self.name = name
        self.logger = logger
    }

    /// Does it once.
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
            // What fails because it was told to stop is nobody's concern.
            guard text != failure, !Task.isCancelled else { return nil }
            failure = text
            logger.warning(
                "failed, is tried again",
                metadata: ["what": "\(name)", "error": "\(text)"]
            )
            return nil
        }
    }
}

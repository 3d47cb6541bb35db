import Logging
import PollLoop
import ServiceLifecycle
import TransferHTTP

/// The service that tells the API, soon after the start, which keys were used lately.
///
/// Nothing waits for it: until then, keys are looked up like any that are new to the instance.
struct KeyRecall: Service {
    /// The pauses after failures of the database: long ones, since a look reads the keys of all
    /// tenants.
    private static let backoff = Backoff(base: .seconds(1), limit: .seconds(60))

    let api: TransferAPI
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { await recall() }
        // The end of a service is the end of its group. It throws if that is cancelled already.
        try? await gracefulShutdown()
    }

    private func recall() async {
        var failureCount = 0
        while !Task.isCancelled {
            do {
                return try await api.recallKeys()
            } catch {
                if Task.isCancelled { return }
                logger.warning(
                    "keys used lately are not known yet",
                    metadata: ["error": "\(error)"]
                )
            }
            failureCount += 1
            // A cancelled pause is the end of the loop.
            try? await Task.sleep(for: Self.backoff.delay(failureCount: failureCount))
        }
    }
}

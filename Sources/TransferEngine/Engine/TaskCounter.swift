package import Logging
import PollLoop
import ServiceLifecycle
package import TransferStore

/// The service that folds the moves of tasks into the counts, so that readers of these have little
/// to add up, and adds the events of their sessions to the feeds.
///
/// Every instance has one; an advisory lock lets one of them at a time do it.
package struct TaskCounter: Service {
    private static let interval: Duration = .seconds(1)
    /// The largest share of the time that folding takes: under an old snapshot it reads all moves
    /// that were folded since.
    private static let shareMax = 0.05

    private let counts: CountStore
    private let logger: Logger

    /// Creates a counter that folds the moves in `counts`.
    package init(counts: CountStore, logger: Logger) {
        self.counts = counts
        self.logger = logger
    }

    /// Folds until the group shuts down gracefully, or until cancelled.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do throws(StoreError) {
                    while try await counts.foldMoves() == CountStore.foldMax {}
                } catch {
                    // The counts are right without it, and whoever reads a feed adds to it first.
                    logger.debug("moves of tasks not folded", metadata: ["error": "\(error)"])
                }
                let took = ContinuousClock.now - start
                let rest = max(Self.interval, took.rest(forShare: Self.shareMax))
                do { try await Task.sleep(for: rest.jittered) } catch { return }
            }
        }
    }
}

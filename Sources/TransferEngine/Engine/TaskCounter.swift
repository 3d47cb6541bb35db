package import Logging
import ServiceLifecycle
package import TransferStore

/// Folds how tasks have moved into the counts, so that whoever reads these has little to add up.
///
/// Every instance has one; an advisory lock lets one of them do it at a time.
package struct TaskCounter: Service {
    private static let interval: Duration = .seconds(1)
    /// It takes this part of the time at most: under an old snapshot it passes over all moves that
    /// were folded since.
    private static let shareMax = 0.05

    private let counts: CountStore
    private let logger: Logger

    package init(counts: CountStore, logger: Logger) {
        self.counts = counts
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do throws(StoreError) {
                    while try await counts.foldMoves() == CountStore.foldMax {}
                } catch {
                    // The counts are right without it.
                    logger.debug("moves of tasks not folded", metadata: ["error": "\(error)"])
                }
                let took = ContinuousClock.now - start
                let rest = max(Self.interval, took.rest(forShare: Self.shareMax))
                do { try await Task.sleep(for: rest.jittered) } catch { return }
            }
        }
    }
}

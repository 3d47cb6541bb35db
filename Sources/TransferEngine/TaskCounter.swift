package import Logging
import ServiceLifecycle
package import TransferStore

/// Folds how tasks have moved into the counts, so that whoever reads these has little to add up.
///
/// Every instance has one; an advisory lock lets one of them do it at a time.
package struct TaskCounter: Service {
    private static let interval: Duration = .seconds(1)
    /// Rests are at least so many times as long as the work before, which under an old snapshot passes
    /// over all moves that were folded since.
    private static let restFactor = 19

    private let store: TransferStore
    private let logger: Logger

    package init(store: TransferStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do throws(StoreError) {
                    while try await store.foldMoves() == TransferStore.foldMax {}
                } catch {
                    // The counts are right without it.
                    logger.debug("moves of tasks not folded", metadata: ["error": "\(error)"])
                }
                let rest = max(Self.interval, (.now - start) * Self.restFactor)
                do { try await Task.sleep(for: rest.jittered) } catch { return }
            }
        }
    }
}

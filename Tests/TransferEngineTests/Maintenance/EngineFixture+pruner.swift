import Logging
import TransferContainer
import TransferEngine
import TransferStore
import TransferTestSupport

extension EngineFixture {
    /// Returns a pruner for which all tasks have ended too long ago.
    func eagerPruner() throws -> Pruner {
        var settings = StoreSettings()
        settings.resultRetention = .seconds(-60)
        return try Pruner(
            stores: EngineStores(
                Database(pool: TestDatabase.current.pool(), settings: settings)
            ),
            container: Container(directory: directory),
            retention: Pruner.Retention(
                events: .seconds(30 * 24 * 3600),
                attempts: .seconds(30 * 24 * 3600),
                sessions: .seconds(30 * 24 * 3600)
            ),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}

import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import TransferModel
import TransferStore

/// The egress rules of tenants, as this instance knows them.
///
/// They are read every few seconds, so that requests cost a look into memory. While the database is
/// away, the last ones hold.
final class TenantRules: Service {
    /// A change holds within five seconds: this, and the time of the look.
    private static let interval: Duration = .seconds(3)

    private let rules = Mutex<[UUID: EgressRules]>([:])
    private let store: TenantStore
    private let logger: Logger

    init(_ store: TenantStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Returns the rules of a tenant; nil if it has none.
    func rules(of tenant: UUID?) -> EgressRules? {
        tenant.flatMap { tenant in rules.withLock { $0[tenant] } }
    }

    /// Reads the rules; before anything is sent, and then again and again.
    func look() async throws(StoreError) {
        let found = try await store.egressRules()
        let byID = Dictionary(uniqueKeysWithValues: found.map { ($0.key.uuid, $0.value) })
        rules.withLock { $0 = byID }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.interval) } catch { return }
                do throws(StoreError) {
                    try await self.look()
                } catch {
                    self.logger.debug("egress rules not read", metadata: ["error": "\(error)"])
                }
            }
        }
    }
}

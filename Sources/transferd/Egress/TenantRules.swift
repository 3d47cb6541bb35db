import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import TransferModel
import TransferStore

/// The egress rules of tenants, as this instance knows them.
///
/// Those that have changed are read every few seconds, so that requests cost a look into memory.
/// While the database is away, the last ones hold.
final class TenantRules: Service {
    /// A change holds within five seconds: this, and the time of the look.
    private static let interval: Duration = .seconds(3)

    private let known = Mutex<[TenantID: TenantStore.VersionedRules]>([:])
    private let store: TenantStore
    private let logger: Logger

    init(_ store: TenantStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Returns the rules of a tenant; nil if it has none.
    func rules(of tenant: UUID?) -> EgressRules? {
        tenant.flatMap { tenant in known.withLock { $0[TenantID(tenant)]?.rules } }
    }

    /// Reads the rules that are not known yet or have changed; before anything is sent, and then
    /// again and again.
    func look() async throws(StoreError) {
        let versions = try await store.egressVersions()
        let unchanged = known.withLock { known in
            known.filter { versions[$0.key] == $0.value.version }
        }
        let others = versions.keys.filter { unchanged[$0] == nil }
        let found = others.isEmpty ? [:] : try await store.egressRules(of: others)
        // Who is in neither has no rules any more.
        known.withLock { $0 = unchanged.merging(found) { _, new in new } }
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

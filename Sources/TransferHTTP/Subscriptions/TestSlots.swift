import Synchronization
import TransferModel

/// A count of the test messages under way, so that receivers that do not answer leave room for the
/// deliveries, with which tests share their connections.
final class TestSlots: Sendable {
    /// The most test messages of one tenant.
    static let perTenantMax = 16
    /// The most test messages of all tenants, with some more that one tenant leaves for others.
    private static let slotsMax = 64

    private let ledger = Mutex(
        SlotLedger<TenantID>(slots: TestSlots.slotsMax, ownMax: TestSlots.perTenantMax)
    )

    /// Takes a slot; the request is not worked on while its receiver is waited for.
    ///
    /// - Throws: ``Problem`` when there is none for the tenant now.
    func take(for tenant: TenantID) throws(Problem) {
        guard ledger.withLock({ $0.take(for: tenant) }) else {
            throw Problem(exhausted: .testMessages)
        }
        RequestResources.current?.pauseWork()
    }

    /// Gives back a slot that was taken.
    func giveBack(for tenant: TenantID) {
        ledger.withLock { $0.giveBack(for: tenant) }
    }
}

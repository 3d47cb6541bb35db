import TransferWire
import Synchronization
import TransferModel

/// A count of the requests that wait for news, so that one tenant's requests cannot take all slots.
final class ReaderSlots: Sendable {
    private let perTenantMax: Int
    private let max: Int
    private let ledger: Mutex<SlotLedger<TenantID>>

    /// Creates the slots.
    ///
    /// - Parameters:
    ///   - perTenantMax: requests of one tenant.
    ///   - max: requests of all tenants, of which one tenant gets what ``SlotShares`` gives it.
    init(perTenantMax: Int, max: Int) {
        self.perTenantMax = perTenantMax
        self.max = max
        ledger = Mutex(SlotLedger(slots: max, ownMax: perTenantMax))
    }

    /// Takes a slot; the request is not worked on while it waits.
    ///
    /// - Throws: ``Problem`` when the maximum is reached.
    func take(for tenant: TenantID) throws(Problem) -> ReaderSlot {
        let fault = ledger.withLock { ledger -> String? in
            if ledger.take(for: tenant) { return nil }
            return ledger.count(of: tenant) < perTenantMax
                ? "The tenant has its part of the \(max) readers of the instance; try again later."
                : "The tenant reads \(perTenantMax) streams already; end one first."
        }
        if let fault { throw Problem(.tooManyReaders, fault) }
        RequestResources.current?.pauseWork()
        return ReaderSlot(tenant: tenant, slots: self)
    }

    func giveBack(for tenant: TenantID) {
        ledger.withLock { $0.giveBack(for: tenant) }
    }
}

import Synchronization
import TransferModel
import TransferWire

/// How many requests may wait for events or tasks, and how streams of events behave.
package struct EventReaderBounds: Sendable {
    /// Of one tenant in this instance for events; each holds a connection.
    package var perTenantMax = 100
    /// Of all for events, and as many for tasks; an eighth more is there so that some are free for
    /// whoever comes.
    package var max = 1000
    /// After so long without an event a stream says that it is alive.
    package var heartbeatInterval: Duration = .seconds(15)
    /// After so long in which a client has taken nothing of what was sent, its stream is given up.
    package var writeTimeout: Duration = .seconds(60)

    package init() {}
}

/// Counts the requests that wait for news, so that no tenant's are all that may.
final class ReaderSlots: Sendable {
    private let perTenantMax: Int
    private let max: Int
    private let ledger: Mutex<SlotLedger<TenantID>>

    /// - Parameters:
    ///   - perTenantMax: requests of one tenant.
    ///   - max: requests of all, of which a tenant has what ``SlotShares`` gives it.
    init(perTenantMax: Int, max: Int) {
        self.perTenantMax = perTenantMax
        self.max = max
        ledger = Mutex(SlotLedger(slots: max, ownMax: perTenantMax))
    }

    /// - Throws: ``Problem`` when there are as many as may be.
    func take(for tenant: TenantID) throws(Problem) -> ReaderSlot {
        let fault = ledger.withLock { ledger -> String? in
            if ledger.take(for: tenant) { return nil }
            return ledger.count(of: tenant) < perTenantMax
                ? "The tenant has its part of the \(max) readers of the instance; try again later."
                : "The tenant reads \(perTenantMax) streams already; end one first."
        }
        if let fault { throw Problem(.tooManyReaders, fault) }
        return ReaderSlot(tenant: tenant, slots: self)
    }

    fileprivate func giveBack(for tenant: TenantID) {
        ledger.withLock { $0.giveBack(for: tenant) }
    }
}

/// The right to wait, given back when nobody holds it any more: also when the answer that holds it
/// is never sent.
final class ReaderSlot: Sendable {
    private let tenant: TenantID
    private let slots: ReaderSlots

    fileprivate init(tenant: TenantID, slots: ReaderSlots) {
        self.tenant = tenant
        self.slots = slots
    }

    deinit { slots.giveBack(for: tenant) }
}

import Synchronization
import TransferModel
import TransferWire

/// How many requests may wait for events, and how streams of them behave.
package struct EventReaderBounds: Sendable {
    /// Of one tenant and of all, in this instance; each holds a connection.
    package var perTenantMax = 100
    package var max = ChangeWatchBounds.waitersMax
    /// After so long without an event a stream says that it is alive.
    package var heartbeatInterval: Duration = .seconds(15)
    /// After so long in which a client has taken nothing of what was sent, its stream is given up.
    package var writeTimeout: Duration = .seconds(60)

    package init() {}
}

/// Counts the requests that wait for events.
final class ReaderSlots: Sendable {
    private let bounds: EventReaderBounds
    private let counts = Mutex<[TenantID: Int]>([:])

    init(bounds: EventReaderBounds) { self.bounds = bounds }

    /// - Throws: ``Problem`` when there are as many as may be.
    func take(for tenant: TenantID) throws(Problem) -> ReaderSlot {
        let fault = counts.withLock { counts -> String? in
            guard counts[tenant, default: 0] < bounds.perTenantMax else {
                return "The tenant reads \(bounds.perTenantMax) streams already; end one first."
            }
            guard counts.values.reduce(0, +) < bounds.max else {
                return "The instance serves \(bounds.max) readers already; try again later."
            }
            counts[tenant, default: 0] += 1
            return nil
        }
        if let fault { throw Problem(.tooManyReaders, fault) }
        return ReaderSlot(tenant: tenant, slots: self)
    }

    fileprivate func giveBack(for tenant: TenantID) {
        counts.withLock { counts in
            let left = counts[tenant, default: 0] - 1
            counts[tenant] = left > 0 ? left : nil
        }
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

import NIOCore
import Synchronization
import TransferModel

/// The connections of a server, which also chooses those to close when there are too many.
///
/// When a bound is reached, the connections under it that have waited longest for a request are
/// closed: idle connections, and those whose head does not arrive. Only when all of them are being
/// answered is a new connection put into the reserve, where it gets nothing but health.
package final class ConnectionRegistry: Sendable {
    /// The requests that a new connection may make.
    enum Admission: Sendable {
        case all
        case healthOnly
        case none
    }

    /// What is known of a connection; a reference, because each request asks for it several times.
    private final class Entry {
        let address: PeerAddress?
        let admission: Admission
        /// A function that closes the connection unless a request has arrived on it.
        let closeIfWaiting: @Sendable () -> Void
        /// The time since which it waits for a request; nil while one is answered.
        var waitsSince: ContinuousClock.Instant?
        /// The tenant of the last good key.
        var tenant: TenantID?
        /// Whether the connection has been told to close, and is no longer counted.
        var isLeaving = false

        init(
            address: PeerAddress?,
            admission: Admission,
            closeIfWaiting: @escaping @Sendable () -> Void
        ) {
            self.address = address
            self.admission = admission
            self.closeIfWaiting = closeIfWaiting
            waitsSince = .now
        }
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var admittedCount = 0
        var withoutKeyCount = 0
        var reserveCount = 0
        var countByAddress: [PeerAddress: Int] = [:]
        var countByTenant: [TenantID: Int] = [:]
    }

    let bounds: ConnectionBounds
    private let state = Mutex(State())

    /// Creates a registry without connections, for one server from its start.
    package init(bounds: ConnectionBounds = ConnectionBounds()) { self.bounds = bounds }

    /// The number of connections, including those of the reserve.
    package var count: Int { state.withLock { $0.entries.count } }

    /// Admits a connection that was accepted.
    ///
    /// - Parameters:
    ///   - channel: the connection.
    ///   - closeIfWaiting: called on any thread when others need its place.
    /// - Returns: what may be asked for on it.
    func admit(
        _ channel: any Channel,
        closeIfWaiting: @escaping @Sendable () -> Void
    ) -> Admission {
        let address = PeerAddress(channel.remoteAddress)
        let (admission, leaving) = state.withLock { state in
            var leaving: [@Sendable () -> Void] = []
            let hasRoom = makeRoom(for: address, &state, &leaving)
            var admission = hasRoom ? Admission.all : .healthOnly
            if !hasRoom, state.reserveCount >= bounds.reserve {
                evict(1, &state, &leaving) { $0.admission == .healthOnly }
                if state.reserveCount >= bounds.reserve { admission = .none }
            }
            guard admission != .none else { return (admission, leaving) }
            let entry = Entry(
                address: address,
                admission: admission,
                closeIfWaiting: closeIfWaiting
            )
            count(entry, by: 1, &state)
            state.entries[ObjectIdentifier(channel)] = entry
            return (admission, leaving)
        }
        for close in leaving { close() }
        return admission
    }

    /// Removes a connection that has ended.
    func remove(_ channel: any Channel) {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: ObjectIdentifier(channel)) else {
                return
            }
            if !entry.isLeaving { count(entry, by: -1, &state) }
        }
    }

    /// Notes that a request is being answered; a connection that was to close stays.
    func setBusy(_ channel: any Channel) {
        state.withLock { state in
            guard let entry = state.entries[ObjectIdentifier(channel)] else { return }
            entry.waitsSince = nil
            if entry.isLeaving { change(entry, &state) { $0.isLeaving = false } }
        }
    }

    /// Notes that the next request may come.
    func setWaiting(_ channel: any Channel) {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.waitsSince = .now }
    }

    /// Whether a connection gets nothing but health.
    func isForHealthOnly(_ channel: any Channel) -> Bool {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.admission == .healthOnly }
    }

    /// Counts a connection as that of the tenant whose good key has arrived on it.
    ///
    /// - Throws: ``Problem`` when the tenant has the maximum number of connections.
    func claim(_ channel: any Channel, for tenant: TenantID) throws(Problem) {
        var leaving: [@Sendable () -> Void] = []
        let isClaimed = state.withLock { state in
            guard let entry = state.entries[ObjectIdentifier(channel)], entry.tenant != tenant
            else { return true }
            if state.countByTenant[tenant, default: 0] >= bounds.perTenantMax {
                evict(batch(of: bounds.perTenantMax), &state, &leaving) { $0.tenant == tenant }
            }
            guard state.countByTenant[tenant, default: 0] < bounds.perTenantMax else {
                return false
            }
            change(entry, &state) { $0.tenant = tenant }
            return true
        }
        for close in leaving { close() }
        guard isClaimed else { throw Problem(exhausted: .tenantConnections) }
    }

    /// Returns whether one more connection may be counted under each bound, after closing others if
    /// necessary.
    private func makeRoom(
        for address: PeerAddress?,
        _ state: inout State,
        _ leaving: inout [@Sendable () -> Void]
    ) -> Bool {
        if let address, state.countByAddress[address, default: 0] >= bounds.perAddressMax {
            evict(batch(of: bounds.perAddressMax), &state, &leaving) { $0.address == address }
            guard state.countByAddress[address, default: 0] < bounds.perAddressMax else {
                return false
            }
        }
        if state.withoutKeyCount >= bounds.withoutKeyMax {
            evict(batch(of: bounds.withoutKeyMax), &state, &leaving) { $0.tenant == nil }
            guard state.withoutKeyCount < bounds.withoutKeyMax else { return false }
        }
        if state.admittedCount >= bounds.max {
            evict(batch(of: bounds.max), &state, &leaving) { _ in true }
            guard state.admittedCount < bounds.max else { return false }
        }
        return true
    }

    /// Returns how many connections to close at a time, so that the search costs each new one
    /// little.
    private func batch(of bound: Int) -> Int { max(1, bound / 32) }

    /// Closes at most `most` connections of `group`: those that have waited longest.
    private func evict(
        _ most: Int,
        _ state: inout State,
        _ leaving: inout [@Sendable () -> Void],
        where group: (Entry) -> Bool
    ) {
        let waiting = state.entries.values.compactMap { entry in
            let isCandidate = !entry.isLeaving && group(entry)
            return isCandidate ? entry.waitsSince.map { (entry: entry, since: $0) } : nil
        }
        for (entry, _) in waiting.sorted(by: { $0.since < $1.since }).prefix(most) {
            change(entry, &state) { $0.isLeaving = true }
            leaving.append(entry.closeIfWaiting)
        }
    }

    /// Changes what an entry is counted by.
    private func change(_ entry: Entry, _ state: inout State, _ body: (Entry) -> Void) {
        if !entry.isLeaving { count(entry, by: -1, &state) }
        body(entry)
        if !entry.isLeaving { count(entry, by: 1, &state) }
    }

    private func count(_ entry: Entry, by step: Int, _ state: inout State) {
        guard entry.admission == .all else {
            state.reserveCount += step
            return
        }
        state.admittedCount += step
        if entry.tenant == nil { state.withoutKeyCount += step }
        if let address = entry.address { Self.add(step, to: &state.countByAddress, at: address) }
        if let tenant = entry.tenant { Self.add(step, to: &state.countByTenant, at: tenant) }
    }

    private static func add<Key>(_ step: Int, to counts: inout [Key: Int], at key: Key) {
        let count = counts[key, default: 0] + step
        counts[key] = count > 0 ? count : nil
    }
}

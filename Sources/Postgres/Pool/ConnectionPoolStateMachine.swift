import DequeModule

/// Decides which caller gets which connection, without performing anything itself.
///
/// A waiting caller gets an idle connection; otherwise one is opened, up to the maximum; at the
/// maximum callers share the least busy one, up to ``depthMax`` each; otherwise they wait in order.
/// A caller that spends its connection gets one that has served nobody, so that those which know
/// everybody's statements already stay.
/// When the server refuses and no connection is left, all waiting callers fail at once, and so does
/// any caller that comes before the next attempt.
struct ConnectionPoolStateMachine: ~Copyable {
    typealias ConnectionID = Int
    typealias WaiterID = Int
    typealias Instant = ContinuousClock.Instant

    /// The reasons why a caller gets no connection.
    enum Refusal: Equatable, Sendable {
        case unavailable
        case exhausted
        case closed
        case cancelled
    }

    /// What becomes of a connection after its caller.
    enum Use: CaseIterable, Sendable {
        /// Others use it.
        case passing
        /// It is closed: the caller reports ``retired(_:)`` instead of ``released(_:)``.
        case spending
    }

    /// The actions that the pool has to perform, in this order.
    enum Action: Equatable, Sendable {
        /// Open a connection, first of all for this use, then report ``opened(_:)`` or
        /// ``openFailed(_:)``.
        case open(ConnectionID, for: Use)
        /// Let the caller use the connection, then report ``released(_:)``.
        case hand(WaiterID, ConnectionID)
        /// Let the caller fail.
        case refuse(WaiterID, Refusal)
        /// Report ``retryDue()`` after the delay for this many failures in a row.
        case retry(failureCount: Int)
        /// Close the connection once everything in flight on it is done.
        case close(ConnectionID)
    }

    /// The known state of one connection.
    private enum ConnectionState {
        /// Being opened; ends by ``opened(_:)`` or ``openFailed(_:)``.
        ///
        /// It may end before the report that it was open.
        case opening(hasEnded: Bool)
        /// In use by this many callers; changed by handing over, ``released(_:)``, ``lost(_:)``.
        case open(userCount: Int, hasServed: Bool)
    }

    private enum Phase {
        /// Serves callers; ends by ``close()``.
        case running
        /// Opens nothing until ``retryDue()``, after failures; serves with the open connections.
        case backingOff
        /// Refuses all callers permanently.
        case closed
    }

    private let connectionsMax: Int
    private let waitersMax: Int
    private let depthMax: Int
    private var phase = Phase.running
    private var connections: [ConnectionID: ConnectionState] = [:]
    private var connectionCount = 0
    private var failureCount = 0
    /// The waiting callers and their deadlines.
    ///
    /// Their order is in the queues, which may still name some that have left.
    private var waiters: [WaiterID: Instant] = [:]
    /// Apart by use: who spends a connection waits until it is open, and nobody else behind it.
    private var queues: [Use: Deque<WaiterID>] = [:]

    /// - Parameters:
    ///   - connectionsMax: how many connections there may be.
    ///   - waitersMax: how many callers may wait.
    ///   - depthMax: how many callers may use one connection at once.
    init(connectionsMax: Int, waitersMax: Int, depthMax: Int) {
        precondition(connectionsMax > 0 && depthMax > 0 && waitersMax >= 0, "a pool needs room")
        self.connectionsMax = connectionsMax
        self.waitersMax = waitersMax
        self.depthMax = depthMax
    }

    /// The time when the caller that has waited longest gives up.
    var nextDeadline: Instant? {
        mutating get {
            for use in usesByAge() {
                if let waiter = oldest(use) { return waiters[waiter] }
            }
            return nil
        }
    }

    /// The number of open connections, and of those in use.
    var usage: (open: Int, used: Int) {
        connections.values.reduce(into: (open: 0, used: 0)) { usage, connection in
            guard case .open(let userCount, _) = connection else { return }
            usage.open += 1
            if userCount > 0 { usage.used += 1 }
        }
    }

    /// Opens the first connection before anybody asks for it.
    mutating func start() -> [Action] {
        switch phase {
        case .running: connections.isEmpty ? [open(for: .passing)] : []
        case .backingOff, .closed: []
        }
    }

    /// Takes a connection that can be used at once; nil when the caller has to wait or fail.
    mutating func acquireNow(for use: Use = .passing) -> ConnectionID? {
        guard oldest(use) == nil else { return nil }
        return usableConnection(for: use)
    }

    /// Adds a caller that wants a connection and waits for it until `deadline`.
    mutating func acquire(
        _ waiter: WaiterID,
        for use: Use = .passing,
        until deadline: Instant
    ) -> [Action] {
        switch phase {
        case .closed: return [.refuse(waiter, .closed)]
        case .backingOff where connections.isEmpty: return [.refuse(waiter, .unavailable)]
        case .backingOff, .running: break
        }
        guard waiters.count < waitersMax || waiters.isEmpty else {
            return [.refuse(waiter, .exhausted)]
        }
        waiters[waiter] = deadline
        queues[use, default: []].append(waiter)
        let actions = settle()
        // Without room for waiters a caller is served at once or not at all.
        guard waiters.count > waitersMax else { return actions }
        waiters[waiter] = nil
        return actions + [.refuse(waiter, .exhausted)]
    }

    /// Removes a cancelled caller; one that already has its connection is not affected.
    mutating func cancel(_ waiter: WaiterID) -> [Action] {
        waiters.removeValue(forKey: waiter) == nil ? [] : [.refuse(waiter, .cancelled)]
    }

    /// Refuses the callers that have waited too long.
    mutating func expire(now: Instant) -> [Action] {
        var actions: [Action] = []
        for use in Use.allCases {
            while let waiter = oldest(use), let deadline = waiters[waiter], deadline <= now {
                waiters[waiter] = nil
                actions.append(.refuse(waiter, .exhausted))
            }
        }
        return actions
    }

    /// Records that a connection is open.
    mutating func opened(_ connection: ConnectionID) -> [Action] {
        guard case .opening(let hasEnded)? = connections[connection] else { return [] }
        guard phase != .closed, !hasEnded else {
            connections[connection] = nil
            return [.close(connection)] + backOff()
        }
        connections[connection] = .open(userCount: 0, hasServed: false)
        return settle()
    }

    /// Records that a connection could not be opened.
    mutating func openFailed(_ connection: ConnectionID) -> [Action] {
        connections[connection] = nil
        return backOff()
    }

    /// Records that a caller got the server's answer on a connection and is done with it.
    mutating func released(_ connection: ConnectionID) -> [Action] {
        guard case .open(let userCount, _)? = connections[connection] else { return [] }
        failureCount = 0
        connections[connection] = .open(userCount: max(0, userCount - 1), hasServed: true)
        return settle()
    }

    /// Records that a caller is done with a connection that nobody is to use any more.
    mutating func retired(_ connection: ConnectionID) -> [Action] {
        guard userCount(of: connection) != nil else { return [] }
        failureCount = 0
        connections[connection] = nil
        let actions = settle()
        return [.close(connection)]
            + (connections.isEmpty && actions.isEmpty ? start() : actions)
    }

    /// Records that a connection leads to a server on which nothing can be changed, as a standby.
    ///
    /// The next one is opened after a pause, because it may lead there too.
    mutating func rejected(_ connection: ConnectionID) -> [Action] {
        guard userCount(of: connection) != nil else { return [] }
        connections[connection] = nil
        return [.close(connection)] + backOff()
    }

    /// Records that a connection has ended; it no longer matters what its callers do with it.
    mutating func lost(_ connection: ConnectionID) -> [Action] {
        switch connections[connection] {
        case nil: return []
        case .opening?:
            connections[connection] = .opening(hasEnded: true)
            return []
        case .open(_, let hasServed)?:
            connections[connection] = nil
            // A server that accepts and hangs up must not be asked again and again without a pause.
            guard hasServed, phase == .running else { return backOff() }
        }
        let actions = settle()
        return connections.isEmpty && actions.isEmpty ? start() : actions
    }

    /// Records that the pause after failures is over.
    mutating func retryDue() -> [Action] {
        switch phase {
        case .backingOff:
            phase = .running
            let actions = settle()
            return connections.isEmpty && actions.isEmpty ? start() : actions
        case .running, .closed:
            return []
        }
    }

    /// Takes every idle connection for a ping; each must be released like any other.
    mutating func takeIdle() -> [ConnectionID] {
        let idle = connections.keys.filter { userCount(of: $0) == 0 }.sorted()
        for connection in idle { take(connection) }
        return idle
    }

    /// Refuses all callers and closes every connection.
    mutating func close() -> [Action] {
        phase = .closed
        var actions = refuseAll(.closed)
        for connection in connections.keys.sorted() where userCount(of: connection) != nil {
            connections[connection] = nil
            actions.append(.close(connection))
        }
        return actions
    }
}

extension ConnectionPoolStateMachine {
    /// Serves waiting callers as far as possible, and opens missing connections.
    private mutating func settle() -> [Action] {
        var actions: [Action] = []
        while let action = handNext() { actions.append(action) }
        while canOpen, openingCount < waiters.count {
            actions.append(open(for: openingCount < passingCount ? .passing : .spending))
        }
        return actions
    }

    /// Serves the caller that has waited longest of those that can be served.
    private mutating func handNext() -> Action? {
        for use in usesByAge() {
            if let waiter = oldest(use), let connection = usableConnection(for: use) {
                waiters[waiter] = nil
                return .hand(waiter, connection)
            }
        }
        return nil
    }

    /// Takes the least busy connection with room for one more caller, the oldest of these; for one
    /// who spends it, the youngest.
    ///
    /// Callers share a connection only when no other can be had soon: callers that share one wait
    /// for each other. Nor is one that has served spent otherwise.
    private mutating func usableConnection(for use: Use) -> ConnectionID? {
        var best: (connection: ConnectionID, userCount: Int, rank: Int)?
        for (connection, state) in connections {
            guard case .open(let count, _) = state, count < depthMax else { continue }
            let rank = use == .passing ? connection : -connection
            if let best, (best.userCount, best.rank) < (count, rank) { continue }
            best = (connection, count, rank)
        }
        guard let best, !canBeHadSoon || isFree(best.connection, for: use) else { return nil }
        take(best.connection)
        return best.connection
    }

    /// Whether nobody uses the connection, nor misses it afterwards.
    private func isFree(_ connection: ConnectionID, for use: Use) -> Bool {
        guard case .open(userCount: 0, let hasServed)? = connections[connection] else {
            return false
        }
        return use == .passing || !hasServed
    }

    /// Whether another connection is coming, or may be opened.
    private var canBeHadSoon: Bool { canOpen || openingCount > 0 }

    /// Pauses after a failure; without any connection left or coming, waiting callers are refused.
    private mutating func backOff() -> [Action] {
        switch phase {
        case .closed: return []
        case .backingOff: return refuseIfHopeless()
        case .running:
            failureCount += 1
            phase = .backingOff
            return refuseIfHopeless() + settle() + [.retry(failureCount: failureCount)]
        }
    }

    private mutating func refuseIfHopeless() -> [Action] {
        connections.isEmpty ? refuseAll(.unavailable) : []
    }

    private mutating func refuseAll(_ refusal: Refusal) -> [Action] {
        var actions: [Action] = []
        for use in Use.allCases {
            while let waiter = oldest(use) {
                waiters[waiter] = nil
                actions.append(.refuse(waiter, refusal))
            }
        }
        return actions
    }

    private mutating func open(for use: Use) -> Action {
        connectionCount += 1
        connections[connectionCount] = .opening(hasEnded: false)
        return .open(connectionCount, for: use)
    }

    private mutating func take(_ connection: ConnectionID) {
        guard case .open(let count, let hasServed)? = connections[connection] else { return }
        connections[connection] = .open(userCount: count + 1, hasServed: hasServed)
    }

    /// Returns the uses, first that of the caller that has waited longest.
    private mutating func usesByAge() -> [Use] {
        guard let spending = oldest(.spending).flatMap({ waiters[$0] }),
            let passing = oldest(.passing).flatMap({ waiters[$0] }), passing <= spending
        else { return [.spending, .passing] }
        return [.passing, .spending]
    }

    /// Returns the caller that has waited longest; drops from its queue those that have left.
    private mutating func oldest(_ use: Use) -> WaiterID? {
        while let waiter = queues[use]?.first {
            if waiters[waiter] != nil { return waiter }
            _ = queues[use]?.popFirst()
        }
        return nil
    }

    private var canOpen: Bool {
        switch phase {
        case .running: connections.count < connectionsMax
        case .backingOff, .closed: false
        }
    }

    /// The number of waiting callers that do not spend their connections.
    private var passingCount: Int {
        queues[.passing]?.count { waiters[$0] != nil } ?? 0
    }

    private var openingCount: Int {
        connections.keys.count { userCount(of: $0) == nil }
    }

    private func userCount(of connection: ConnectionID) -> Int? {
        switch connections[connection] {
        case .open(let userCount, _)?: userCount
        case .opening?, nil: nil
        }
    }
}

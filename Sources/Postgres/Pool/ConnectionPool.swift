package import PollLoop
import Synchronization

/// A bounded set of connections that callers share, one segment at a time.
package final class ConnectionPool: Sendable {
    typealias Machine = ConnectionPoolStateMachine
    typealias Handover = Result<(id: Machine.ConnectionID, connection: Connection), PostgresError>

    /// The default for the maximum number of connections.
    package static let connectionsMaxDefault = 8
    /// The default for the number of callers that may wait for a connection.
    package static let waitersMaxDefault = 1024
    /// The default for how long a caller waits for a connection.
    package static let waitTimeoutDefault: Duration = .seconds(5)
    /// The default for the number of callers with segments in flight on one connection.
    package static let depthMaxDefault = 4
    /// The interval at which idle connections are checked: whether they work, and take changes.
    static let pingInterval: Duration = .seconds(10)
    /// The longest wait for the answer to such a check.
    static let pingDeadline: Duration = .seconds(5)
    /// The default of the time that connections in use have to answer after ``doubt(patience:)``.
    ///
    /// It is longer than any wait for a lock.
    package static let doubtPatienceDefault: Duration = .seconds(10)
    /// The number of bytes sent at once after which a connection is closed.
    ///
    /// libpq's buffer grows to the longest statement and never shrinks, and so does the server's
    /// process: with large submissions each connection would keep many MiB permanently.
    static let retiringBytes = 2 << 20

    /// An action of the state machine with the objects that it concerns.
    private enum Effect: Sendable {
        case open(Machine.ConnectionID, for: Machine.Use)
        case resume(CheckedContinuation<Handover, Never>, Handover)
        case retry(failureCount: Int)
        case close(Connection)
    }

    private struct State: ~Copyable {
        var machine: Machine
        var connections: [Machine.ConnectionID: Connection] = [:]
        var waiters: [Machine.WaiterID: CheckedContinuation<Handover, Never>] = [:]
        var waiterCount = 0
        var isDeadlineArmed = false
        /// The failure to open the last connection, which callers are told meanwhile.
        var lastFailure: PostgresError?

        mutating func effect(of action: Machine.Action) -> Effect? {
            switch action {
            case .open(let id, let use):
                .open(id, for: use)
            case .hand(let waiter, let id):
                // The machine hands out what it was told is open, and it is told under the lock.
                connections[id].flatMap { connection in
                    waiters.removeValue(forKey: waiter).map {
                        .resume($0, .success((id, connection)))
                    }
                }
            case .refuse(let waiter, let refusal):
                waiters.removeValue(forKey: waiter).map {
                    .resume($0, .failure(refusal.error(lastFailure: lastFailure)))
                }
            case .retry(let failureCount):
                .retry(failureCount: failureCount)
            case .close(let id):
                connections.removeValue(forKey: id).map { .close($0) }
            }
        }
    }

    private let configuration: ConnectionConfiguration
    private let waitTimeout: Duration
    private let loop: PollLoop
    private let loopForLong: PollLoop
    private let backoff = Backoff()
    private let state: Mutex<State>

    /// Creates a pool without connections; ``run()`` or the first caller opens the first one.
    ///
    /// - Parameters:
    ///   - configuration: where the server is.
    ///   - connectionsMax: how many connections there may be.
    ///   - waitersMax: how many callers may wait; the next one fails with
    ///     ``PostgresError/Code/poolExhausted``, and so does who has waited for `waitTimeout`.
    ///   - waitTimeout: how long a caller waits for a connection.
    ///   - depthMax: how many callers may share one connection when all are busy.
    ///   - loop: what the connections are confined to; it must outlive the pool.
    ///   - loopForLong: the same for those that are opened for one long statement, to send which
    ///     takes so long that others would wait for it; nil for `loop`.
    package init(
        configuration: ConnectionConfiguration,
        connectionsMax: Int = connectionsMaxDefault,
        waitersMax: Int = waitersMaxDefault,
        waitTimeout: Duration = waitTimeoutDefault,
        depthMax: Int = depthMaxDefault,
        loop: PollLoop,
        loopForLong: PollLoop? = nil
    ) {
        self.configuration = configuration
        self.waitTimeout = waitTimeout
        self.loop = loop
        self.loopForLong = loopForLong ?? loop
        state = Mutex(
            State(
                machine: Machine(
                    connectionsMax: connectionsMax,
                    waitersMax: waitersMax,
                    depthMax: depthMax
                )
            )
        )
    }

    /// The connections that are open, those of them in use, and the callers that wait for one.
    package var usage: (open: Int, used: Int, waiters: Int) {
        state.withLock { state in
            let (open, used) = state.machine.usage
            return (open, used, state.waiters.count)
        }
    }

    /// Executes one statement, in a transaction of its own.
    package func execute(_ query: Query) async throws(PostgresError) -> Rows {
        let results = try await execute([query])
        guard let rows = results.first else {
            throw PostgresError(.decoding, "the statement gave no result")
        }
        return rows
    }

    /// Executes statements in one round trip and one transaction: all of them happen, or none.
    ///
    /// Cancelling the task ends the wait for a connection, but does not undo what was sent.
    package func execute(_ queries: [Query]) async throws(PostgresError) -> [Rows] {
        var byteCount = 0
        for query in queries { byteCount += try query.validate() }
        let use: Machine.Use = byteCount < Self.retiringBytes ? .passing : .spending
        while true {
            let (id, connection) = try await acquire(for: use)
            do throws(PostgresError) {
                let rows = try await connection.execute(queries)
                released(id, after: nil, use)
                return rows
            } catch {
                released(id, after: error, use)
                // The connection had ended before anything was sent: use another one. The loop
                // ends, as the pool has forgotten the connection or fails for lack of a server.
                guard error.code == .connectionFailed else { throw error }
            }
        }
    }

    /// Keeps the pool healthy until the task is cancelled, then closes it.
    ///
    /// The first connection is opened at once, so that the first caller does not wait for it.
    package func run() async {
        perform { $0.machine.start() }
        while !Task.isCancelled {
            await ping()
            do {
                try await Task.sleep(for: Self.pingInterval)
            } catch {
                break
            }
        }
        await close()
    }

    /// Replaces connections that may lead nowhere, after another one to the server was found to.
    ///
    /// A network or a pooler that has forgotten a connection tells nobody, and seldom forgets one
    /// alone. The idle ones are closed; those in use are given up unless they answer in `patience`.
    package func doubt(patience: Duration = doubtPatienceDefault) {
        perform { state in
            var actions: [Machine.Action] = []
            for id in state.machine.takeIdle() { actions += state.machine.retired(id) }
            return actions
        }
        for connection in state.withLock({ Array($0.connections.values) }) {
            connection.loop.execute {
                connection.assumeIsolated { $0.doubt(patience: patience) }
            }
        }
    }

    /// Refuses callers from now on and waits until those being served have finished.
    package func close() async {
        for effect in effects(of: { $0.machine.close() }) {
            if case .close(let connection) = effect {
                await connection.close()
            } else {
                perform(effect)
            }
        }
    }
}

/// The events that callers and connections report to the machine, and the resulting actions.
extension ConnectionPool {
    private func acquire(
        for use: Machine.Use
    ) async throws(PostgresError) -> (Machine.ConnectionID, Connection) {
        let ready = state.withLock { state -> (Machine.ConnectionID, Connection)? in
            guard let id = state.machine.acquireNow(for: use) else { return nil }
            return state.connections[id].map { (id, $0) }
        }
        if let ready { return ready }
        let waiter = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        let handover = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(waiter, use, $0) }
        } onCancel: {
            perform { $0.machine.cancel(waiter) }
        }
        return try handover.get()
    }

    private func wait(
        _ waiter: Machine.WaiterID,
        _ use: Machine.Use,
        _ continuation: CheckedContinuation<Handover, Never>
    ) {
        let deadline = ContinuousClock.now.advanced(by: waitTimeout)
        perform { state in
            state.waiters[waiter] = continuation
            let actions = state.machine.acquire(waiter, for: use, until: deadline)
            // Checked under the lock: any later cancellation finds the waiter in the machine.
            return Task.isCancelled ? actions + state.machine.cancel(waiter) : actions
        }
        armDeadline()
    }

    private func released(
        _ id: Machine.ConnectionID,
        after error: PostgresError?,
        _ use: Machine.Use = .passing
    ) {
        perform { state in
            switch error?.code {
            case .connectionLost, .deadlineExceeded, .connectionFailed, .poolClosed:
                state.connections[id] = nil
                return state.machine.lost(id)
            case .server where error?.isReadOnly == true:
                return state.machine.rejected(id)
            case nil, .server, .decoding, .encoding, .cancelled, .poolExhausted:
                return use == .spending || isForLong(state.connections[id])
                    ? state.machine.retired(id) : state.machine.released(id)
            }
        }
    }

    /// Whether a connection was opened for a long statement, whose caller may have left.
    private func isForLong(_ connection: Connection?) -> Bool {
        loopForLong !== loop && connection?.loop === loopForLong
    }

    private func open(_ id: Machine.ConnectionID, for use: Machine.Use) async {
        let loop = use == .passing ? loop : loopForLong
        do throws(PostgresError) {
            let connection = try await Connection.open(configuration, on: loop) { [weak self] in
                self?.perform { state in
                    state.connections[id] = nil
                    return state.machine.lost(id)
                }
            }
            perform { state in
                state.connections[id] = connection
                return state.machine.opened(id)
            }
        } catch {
            perform { state in
                state.lastFailure = error
                return state.machine.openFailed(id)
            }
        }
    }

    private func ping() async {
        let idle = state.withLock { state in
            state.machine.takeIdle().compactMap { id in
                state.connections[id].map { (id, $0) }
            }
        }
        await withDiscardingTaskGroup { pings in
            // At once: behind a silent one, the others would count as in use meanwhile.
            for (id, connection) in idle { pings.addTask { await self.ping(connection, id) } }
        }
    }

    private func ping(_ connection: Connection, _ id: Machine.ConnectionID) async {
        do throws(PostgresError) {
            let results = try await connection.submit(
                .queries([
                    "SELECT current_setting('transaction_read_only')::boolean AS is_read_only"
                ]),
                timeout: Self.pingDeadline
            )
            let isReadOnly =
                try results.first?.first?.decode("is_read_only", as: Bool.self) ?? false
            released(id, after: isReadOnly ? PostgresError.readOnly : nil)
        } catch {
            released(id, after: error)
        }
    }

    /// Passes `event` to the machine, then performs the resulting actions outside the lock.
    private func perform(_ event: (inout State) -> [Machine.Action]) {
        for effect in effects(of: event) { perform(effect) }
    }

    /// Returns the effects that the machine wants after `event`, which must not run under the lock.
    private func effects(of event: (inout State) -> [Machine.Action]) -> [Effect] {
        state.withLock { state in
            let actions = event(&state)
            return actions.compactMap { state.effect(of: $0) }
        }
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .open(let id, let use):
            // Not structured: it outlives the caller that it is opened for, and may serve others.
            Task { await open(id, for: use) }
        case .resume(let continuation, let handover):
            continuation.resume(returning: handover)
        case .retry(let failureCount):
            let delay = backoff.delay(failureCount: failureCount)
            after(delay) { pool in pool.perform { $0.machine.retryDue() } }
        case .close(let connection):
            // Not structured: nobody waits for a connection that came too late.
            Task { await connection.close() }
        }
    }

    /// Sets one timer for all waiters, which expire in the order in which they came.
    private func armDeadline() {
        let deadline = state.withLock { state -> ContinuousClock.Instant? in
            guard !state.isDeadlineArmed, let deadline = state.machine.nextDeadline else {
                return nil
            }
            state.isDeadlineArmed = true
            return deadline
        }
        guard let deadline else { return }
        after(deadline - .now) { pool in
            pool.perform { state in
                state.isDeadlineArmed = false
                return state.machine.expire(now: .now)
            }
            pool.armDeadline()
        }
    }

    private func after(_ delay: Duration, _ body: @escaping @Sendable (ConnectionPool) -> Void) {
        loop.execute { [weak self] in
            self?.loop.schedule(after: delay) { [weak self] in
                if let self { body(self) }
            }
        }
    }
}

extension ConnectionPoolStateMachine.Refusal {
    /// Returns the error that the caller is told; nothing was sent in any of these cases.
    fileprivate func error(lastFailure: PostgresError?) -> PostgresError {
        switch self {
        case .unavailable:
            PostgresError(
                .connectionFailed,
                "the database is not available",
                details: lastFailure?.debugDescription ?? "",
                sqlState: lastFailure?.sqlState
            )
        case .exhausted: PostgresError(.poolExhausted, "no connection became free in time")
        case .closed: PostgresError(.poolClosed, "the pool is closed")
        case .cancelled: PostgresError(.cancelled, "the task was cancelled")
        }
    }
}

package import Logging
import PollLoop
package import Postgres
import Synchronization
package import TransferModel

/// Sends signals to the other instances at once, which their next poll would find anyway, and
/// receives theirs.
///
/// It has one connection of its own for both. A `NOTIFY` waits at its commit for a lock of the
/// whole server, which no transaction with data in it should do, and `LISTEN` is lost behind a
/// pooler that assigns connections by the transaction (PostgreSQL manual, NOTIFY). While the
/// connection is away no signal is sent or received, and the polls find everything.
package final class SignalRelay: Sendable {
    /// The server's name for the channel; instances of one service share a database.
    package static let channelDefault = "transferd"
    /// The minimum time between two messages; signals in between are combined.
    static let sendInterval: Duration = .milliseconds(20)
    private static let pauseMin: Duration = .milliseconds(100)
    private static let pauseMax: Duration = .seconds(10)
    /// The default pause between two questions whether the connection is there.
    package static let checkIntervalDefault: Duration = .seconds(10)

    private struct State {
        var pending: Set<Signal> = []
        /// The hosts that are named with ``Signal/work``.
        var hosts: Set<HostKey> = []
        var isConnected = false
        /// The continuation that wakes the sender on the current connection.
        var wakeup: AsyncStream<Void>.Continuation?
    }

    private let state = Mutex(State())
    private let channel: String
    /// The mark of the messages that this instance has sent itself.
    private let sender = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    private let checkInterval: Duration
    private let connect: @Sendable () async throws(PostgresError) -> Connection
    private let onSignals: @Sendable (Set<Signal>, Set<HostKey>) -> Void
    private let logger: Logger

    /// Creates a relay that has no connection yet.
    ///
    /// - Parameters:
    ///   - channel: the channel; all relays on it receive each other's signals.
    ///   - checkInterval: the pause between two questions whether the connection is there.
    ///   - logger: a logger for one line each when the connection goes away and when it is back.
    ///   - connect: a closure that opens a connection which may stay open.
    ///   - onSignals: a closure called with the signals of other instances and the hosts named with
    ///     them, and with all signals after each connect, because earlier ones are lost; it must
    ///     not block.
    package init(
        channel: String = channelDefault,
        checkInterval: Duration = checkIntervalDefault,
        logger: Logger,
        connect: @escaping @Sendable () async throws(PostgresError) -> Connection,
        onSignals: @escaping @Sendable (Set<Signal>, Set<HostKey>) -> Void
    ) {
        self.channel = channel
        self.checkInterval = checkInterval
        self.logger = logger
        self.connect = connect
        self.onSignals = onSignals
    }

    /// Whether signals of other instances are received now.
    package var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Sends signals to the other instances soon, with as many of `hosts` as may be named, without
    /// waiting; cheap, to be called after the commit.
    package func send(_ signals: Set<Signal>, at hosts: Set<HostKey> = []) {
        let wakeup = state.withLock { state -> AsyncStream<Void>.Continuation? in
            for host in hosts where state.hosts.count < Signal.hostsMax { state.hosts.insert(host) }
            guard !signals.isSubset(of: state.pending) else { return nil }
            state.pending.formUnion(signals)
            return state.wakeup
        }
        wakeup?.yield()
    }

    /// Sends and receives until cancelled; signals pending by then are still sent.
    package func run() async {
        let backoff = Backoff(base: Self.pauseMin, limit: Self.pauseMax)
        var failureCount = 0
        var isAway = false
        while !Task.isCancelled {
            var cause = "the server closed the connection"
            var connectedAt: ContinuousClock.Instant?
            do throws(PostgresError) {
                let connection = try await connect()
                do throws(PostgresError) {
                    try await listen(over: connection)
                    if isAway { logger.info("signals of other instances arrive again") }
                    isAway = false
                    connectedAt = .now
                    try await relay(over: connection)
                } catch {
                    await release(connection)
                    throw error
                }
                await release(connection)
            } catch {
                cause = "\(error)"
            }
            if !isAway, !Task.isCancelled {
                logger.warning(
                    "signals of other instances do not arrive, polling instead",
                    metadata: ["error": "\(cause)"]
                )
            }
            isAway = true
            // A server that accepts and hangs up must not be asked again and again without a pause.
            if let connectedAt, .now - connectedAt > Self.pauseMax { failureCount = 0 }
            failureCount += 1
            let pause = backoff.delay(failureCount: failureCount)
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }

    private func release(_ connection: Connection) async {
        state.withLock { state in
            state.isConnected = false
            state.wakeup = nil
        }
        await connection.close()
    }

    /// Sends and receives over a connection, and returns when it has ended, or after the last
    /// message when cancelled.
    private func relay(over connection: Connection) async throws(PostgresError) {
        let (wakeups, wakeup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            state.isConnected = true
            state.wakeup = wakeup
        }
        onSignals(Set(Signal.allCases), [])
        // For what is pending already.
        wakeup.yield()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await message in connection.notifications { self.hear(message.payload) }
            }
            group.addTask { await self.send(over: connection, upon: wakeups, wakeup) }
            group.addTask { await self.check(connection) }
            await group.next()
            group.cancelAll()
        }
        try await sendPending(over: connection)
    }

    private func listen(over connection: Connection) async throws(PostgresError) {
        _ = try await connection.execute("LISTEN \(identifier: channel)")
    }

    /// Asks now and then until the connection has ended or the task is cancelled.
    ///
    /// A network or a proxy may have forgotten a connection over which nobody says anything, and
    /// whoever only listens would never know. Listening once more changes nothing.
    private func check(_ connection: Connection) async {
        while true {
            do { try await Task.sleep(for: checkInterval) } catch { return }
            do throws(PostgresError) {
                try await listen(over: connection)
            } catch {
                guard error.code == .server else { return }
            }
        }
    }

    /// Sends what is pending upon each wake-up, until the connection has ended or the task is
    /// cancelled.
    ///
    /// What the server refuses, as it does where the role may not notify, is sent again after
    /// growing pauses. Another connection would change nothing, and this one still hears the
    /// others.
    private func send(
        over connection: Connection,
        upon wakeups: AsyncStream<Void>,
        _ wakeup: AsyncStream<Void>.Continuation
    ) async {
        let backoff = Backoff(base: Self.pauseMin, limit: Self.pauseMax)
        var refusalCount = 0
        for await _ in wakeups {
            var rest = Self.sendInterval
            do throws(PostgresError) {
                try await sendPending(over: connection)
                if refusalCount > 0 { logger.info("signals are sent to other instances again") }
                refusalCount = 0
            } catch {
                // Otherwise the connection has ended, which the caller handles.
                guard error.code == .server else { return }
                if refusalCount == 0 {
                    logger.warning(
                        "signals are not sent to other instances, which poll instead",
                        metadata: ["error": "\(error)"]
                    )
                }
                refusalCount += 1
                rest = backoff.delay(failureCount: refusalCount)
                wakeup.yield()
            }
            do { try await Task.sleep(for: rest) } catch { return }
        }
    }

    private func sendPending(over connection: Connection) async throws(PostgresError) {
        let (signals, hosts) = state.withLock { state in
            defer { (state.pending, state.hosts) = ([], []) }
            return (state.pending, state.hosts)
        }
        guard !signals.isEmpty else { return }
        let messages = signals.map { signal in
            let names = signal == .work ? hosts.map { String($0.rawValue, radix: 36) } : []
            return ([signal.rawValue, sender] + names).joined(separator: " ")
        }
        do throws(PostgresError) {
            _ = try await connection.execute(
                """
                SELECT pg_notify(\(channel), s.message) FROM unnest(\(messages)) AS s (message)
                """
            )
        } catch {
            state.withLock { state in
                state.pending.formUnion(signals)
                if state.hosts.isEmpty { state.hosts = hosts }
            }
            throw error
        }
    }

    /// Passes on a message of another instance; a word of a later release is ignored.
    private func hear(_ payload: String) {
        let words = payload.split(separator: " ")
        guard words.count >= 2, words[1] != sender, let signal = Signal(rawValue: String(words[0]))
        else { return }
        let hosts = words.dropFirst(2).compactMap { Int64($0, radix: 36).map(HostKey.init) }
        onSignals([signal], Set(hosts))
    }
}

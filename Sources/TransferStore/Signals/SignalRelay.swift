package import Logging
package import Postgres
import Synchronization
package import TransferModel

/// Tells the other instances at once what they would find with their next poll, and hears them.
///
/// One connection of its own for both, because a `NOTIFY` waits at its commit for a lock of the
/// whole server, which no transaction with data in it should, and because `LISTEN` is lost behind
/// a pooler that gives out connections by the transaction (PostgreSQL manual, NOTIFY). While the
/// connection is away nothing is told and nothing heard, and the polls find everything.
package final class SignalRelay: Sendable {
    /// What the server calls the channel; instances of one service share a database.
    package static let channelDefault = "transferd"
    /// The least time between two messages, whatever happens in between: many signals are one.
    static let sendInterval: Duration = .milliseconds(20)
    private static let pauseMin: Duration = .milliseconds(100)
    private static let pauseMax: Duration = .seconds(10)

    private struct State {
        var pending: Set<Signal> = []
        var isConnected = false
        /// Wakes whoever sends over the current connection.
        var wakeup: AsyncStream<Void>.Continuation?
    }

    private let state = Mutex(State())
    private let channel: String
    /// Marks what this instance has sent itself.
    private let sender = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    private let connect: @Sendable () async throws(PostgresError) -> Connection
    private let onSignals: @Sendable (Set<Signal>) -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - channel: all that share it hear each other.
    ///   - logger: is told when the connection goes away and when it is back, once each.
    ///   - connect: opens a connection that may stay open.
    ///   - onSignals: called with what other instances tell, and with everything after each
    ///     connect, because what was told before that is lost; must not block.
    package init(
        channel: String = channelDefault,
        logger: Logger,
        connect: @escaping @Sendable () async throws(PostgresError) -> Connection,
        onSignals: @escaping @Sendable (Set<Signal>) -> Void
    ) {
        self.channel = channel
        self.logger = logger
        self.connect = connect
        self.onSignals = onSignals
    }

    /// Whether other instances are heard now.
    package var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Tells the other instances, soon and without waiting; cheap, to be called after the commit.
    package func send(_ signals: Set<Signal>) {
        let wakeup = state.withLock { state -> AsyncStream<Void>.Continuation? in
            guard !signals.isSubset(of: state.pending) else { return nil }
            state.pending.formUnion(signals)
            return state.wakeup
        }
        wakeup?.yield()
    }

    /// Tells and hears until cancelled; what was to be told by then is still sent.
    package func run() async {
        var pause = Self.pauseMin
        var isAway = false
        while !Task.isCancelled {
            var cause = "the server closed the connection"
            do throws(PostgresError) {
                let connection = try await connect()
                do throws(PostgresError) {
                    _ = try await connection.execute("LISTEN \(identifier: channel)")
                    if isAway { logger.info("signals of other instances arrive again") }
                    isAway = false
                    pause = Self.pauseMin
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
            do { try await Task.sleep(for: pause * Double.random(in: 0.5..<1)) } catch { return }
            pause = min(pause * 2, Self.pauseMax)
        }
    }

    private func release(_ connection: Connection) async {
        state.withLock { state in
            state.isConnected = false
            state.wakeup = nil
        }
        await connection.close()
    }

    /// Returns when the connection has ended, or after the last message when cancelled.
    private func relay(over connection: Connection) async throws(PostgresError) {
        let (wakeups, wakeup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            state.isConnected = true
            state.wakeup = wakeup
        }
        onSignals(Set(Signal.allCases))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await message in connection.notifications { self.hear(message.payload) }
            }
            group.addTask {
                do {
                    try await self.sendPending(over: connection)
                    for await _ in wakeups {
                        try await self.sendPending(over: connection)
                        try await Task.sleep(for: Self.sendInterval)
                    }
                } catch {
                    // The connection has ended, or the service stops: both are seen below.
                }
            }
            await group.next()
            group.cancelAll()
        }
        try await sendPending(over: connection)
    }

    private func sendPending(over connection: Connection) async throws(PostgresError) {
        let signals = state.withLock { state in
            defer { state.pending = [] }
            return state.pending
        }
        guard !signals.isEmpty else { return }
        do throws(PostgresError) {
            _ = try await connection.execute(
                """
                SELECT pg_notify(\(channel), s.word || ' ' || \(sender))
                FROM unnest(\(signals.map(\.rawValue))) AS s (word)
                """
            )
        } catch {
            state.withLock { $0.pending.formUnion(signals) }
            throw error
        }
    }

    /// Passes on what others say; a word of a later release is for later releases.
    private func hear(_ payload: String) {
        let words = payload.split(separator: " ")
        guard words.count == 2, words[1] != sender, let signal = Signal(rawValue: String(words[0]))
        else { return }
        onSignals([signal])
    }
}

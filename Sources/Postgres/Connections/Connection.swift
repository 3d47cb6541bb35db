internal import CLibPQ
import DequeModule
package import PollLoop

/// One session with the server, in libpq's pipeline mode, confined to an event loop.
///
/// Several callers' segments may be in flight at once; the server answers them in the order of the
/// calls. libpq is used without blocking (PostgreSQL manual, libpq, "Asynchronous Command
/// Processing" and "Pipeline Mode"); only the opening, which can block, is a ``Handshake``.
@safe package actor Connection {
    /// A message on a channel that the connection listens to.
    package struct Notification: Hashable, Sendable {
        /// The name of the channel.
        package let channel: String
        /// The text of the message.
        package let payload: String

        /// Creates a message as the server would deliver it.
        package init(channel: String, payload: String) {
            self.channel = channel
            self.payload = payload
        }
    }

    enum State {
        /// The handshake is under way; ends by the server's answer or the connect timeout.
        case connecting(CheckedContinuation<PostgresError?, Never>)
        /// Segments are accepted; ends by ``Connection/close()`` or a loss.
        case open
        /// New segments are refused and those in flight finish; then the connection closes.
        case closing([CheckedContinuation<Void, Never>])
        /// The connection is closed; this state never ends.
        case closed
    }

    /// The number of messages kept; a listener further behind loses the oldest ones.
    static let notificationsMax = 1024

    /// The messages of `LISTEN`; the stream ends when the connection does.
    package nonisolated let notifications: AsyncStream<Notification>
    /// The event loop that the connection is confined to.
    package nonisolated let loop: PollLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    let configuration: ConnectionConfiguration
    let notify: AsyncStream<Notification>.Continuation
    /// Runs once, when an open connection has ended.
    let onEnd: @Sendable () -> Void
    var state = State.closed
    /// libpq's connection: used on the loop only, nil once it is finished.
    var server: OpaquePointer?
    /// The registered descriptor, and the readiness that it is registered for.
    var watched: (descriptor: Int32, interest: PollLoop.Readiness)?
    var statements: StatementCache
    var waiting = Deque<Segment>()
    var inFlight = Deque<Segment>()
    var segmentCount = 0
    /// The server's process, where it is on this machine.
    var process: ServerProcess?
    /// The timer for the deadline of the handshake or of the oldest segment in flight.
    var timer: PollLoop.Timer?
    /// The time when the timer fires.
    var timerInstant = ContinuousClock.now

    private init(
        _ configuration: ConnectionConfiguration,
        loop: PollLoop,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.loop = loop
        self.onEnd = onEnd
        statements = StatementCache(
            countMax: configuration.sharesSessions ? 0 : configuration.preparedStatementsMax
        )
        (notifications, notify) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingNewest(Self.notificationsMax)
        )
    }

    isolated deinit {
        // Nobody waits any more: a caller that waits for a segment holds the connection.
        releaseServer()
        notify.finish()
    }

    /// Opens a connection and applies the settings that every connection relies on.
    ///
    /// - Throws: an error with code ``PostgresError/Code/connectionFailed``.
    package static func open(
        _ configuration: ConnectionConfiguration,
        on loop: PollLoop
    ) async throws(PostgresError) -> Connection {
        try await open(configuration, on: loop) {}
    }

    static func open(
        _ configuration: ConnectionConfiguration,
        on loop: PollLoop,
        onEnd: @escaping @Sendable () -> Void
    ) async throws(PostgresError) -> Connection {
        let connection = Connection(configuration, loop: loop, onEnd: onEnd)
        try await connection.connect()
        return connection
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
    /// Cancelling the task does not undo what was sent: the answer is still awaited.
    package func execute(_ queries: [Query]) async throws(PostgresError) -> [Rows] {
        for query in queries { try query.validate() }
        guard !queries.isEmpty else { return [] }
        let timeout = configuration.deadline(ofStatements: queries.count)
        return try await submit(.queries(queries), timeout: timeout)
    }

    /// Executes a string of statements by the simple protocol, for migrations.
    ///
    /// If it contains no `BEGIN`, the string is one transaction. It waits for the segments in
    /// flight, and later ones wait for it. `COPY` from or to the client is not possible.
    package func executeScript(_ sql: String) async throws(PostgresError) {
        guard !sql.utf8.contains(0) else {
            throw PostgresError(.encoding, "the script contains a NUL character")
        }
        _ = try await submit(.script(sql), timeout: configuration.scriptDeadline)
    }

    /// Refuses new segments, waits for those in flight, and ends the session.
    package func close() async {
        switch state {
        case .connecting: end(.poolClosed, "the connection was closed")
        case .open: state = .closing([])
        case .closing: break
        case .closed: return
        }
        await withCheckedContinuation { continuation in
            guard case .closing(let others) = state else { return continuation.resume() }
            state = .closing(others + [continuation])
            endIfDrained()
        }
    }

    func submit(
        _ work: Segment.Work,
        timeout: Duration
    ) async throws(PostgresError) -> [Rows] {
        let outcome = await withCheckedContinuation {
            (completion: CheckedContinuation<Segment.Outcome, Never>) in
            // Here and not before: a task that prefers another executor gives up the loop on its
            // way into this closure, and the connection may end meanwhile.
            if let refusal { return completion.resume(returning: .failure(refusal)) }
            waiting.append(Segment(work: work, timeout: timeout, completion: completion))
            sendWaiting()
        }
        return try outcome.get()
    }

    /// The reason why no segment can be submitted now; nil for none.
    private var refusal: PostgresError? {
        switch state {
        case .connecting: PostgresError(.connectionFailed, "the connection is not open yet")
        // Only the pool knows whether it closes, too.
        case .closing: PostgresError(.connectionFailed, "the connection is closing")
        case .closed: PostgresError(.connectionFailed, "the connection has ended")
        case .open:
            waiting.count < configuration.segmentsWaitingMax
                ? nil : PostgresError(.poolExhausted, "too many callers wait for one connection")
        }
    }
}

extension Connection {
    /// Performs the handshake with the server and applies the settings.
    func connect() async throws(PostgresError) {
        let failure = await withCheckedContinuation { completion in
            state = .connecting(completion)
            startConnecting()
        }
        if let failure { throw failure }
        do throws(PostgresError) {
            _ = try await submit(
                .queries([configuration.settingsQuery]),
                timeout: configuration.connectTimeout
            )
        } catch {
            end(.connectionFailed, "the session could not be set up")
            throw PostgresError(
                .connectionFailed,
                "the session could not be set up",
                details: error.debugDescription,
                sqlState: error.sqlState
            )
        }
    }

    private func startConnecting() {
        // Also covers the time in which libpq does not look at a clock, such as a name lookup.
        timer = loop.schedule(after: configuration.openingTimeout) { [weak self] in
            self?.assumeIsolated { connection in
                connection.timer = nil
                connection.end(
                    .connectionFailed,
                    "the server did not answer in time",
                    details: connection.configuration.remedyForSilence
                )
            }
        }
        Handshake(configuration).start { [weak self, loop] result in
            loop.execute { [weak self] in
                // A session that comes too late is closed with the last reference to it.
                self?.assumeIsolated { $0.finishConnecting(result) }
            }
        }
    }

    private func finishConnecting(_ result: Result<OpenedSession, Handshake.Failure>) {
        guard case .connecting(let completion) = state else { return }
        cancelTimer()
        switch result {
        case .success(let session):
            let opened = unsafe session.take()
            unsafe server = unsafe opened
        case .failure(let failure):
            return end(.connectionFailed, failure.summary, details: failure.details)
        }
        guard let server = unsafe server,
            unsafe PQsetnonblocking(server, 1) == 0, unsafe PQenterPipelineMode(server) == 1
        else {
            return end(.connectionFailed, "the connection cannot be used without blocking")
        }
        watch(.readable)
        guard watched != nil else { return }
        if !configuration.sharesSessions { process = unsafe ServerProcess(serving: server) }
        state = .open
        completion.resume(returning: nil)
    }
}

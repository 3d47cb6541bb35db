import PollLoop
import Glibc
import Synchronization

/// A TCP proxy on 127.0.0.1 that behaves like a bad network.
///
/// It stands in front of a port of 127.0.0.1 or a socket in the file system. All connections share
/// one thread. It needs nothing but the event loop, so that tests and benchmarks can both use it.
package final class FaultProxy: Sendable {
    /// Decides about a connection by its number, counted from 1; called on the proxy's thread.
    package typealias Plan = @Sendable (_ connection: Int) -> Faults

    /// The server behind the proxy.
    package enum Origin: Sendable {
        /// A port on 127.0.0.1.
        case port(UInt16)
        /// A socket in the file system.
        case socket(String)
    }

    /// Counts of the connections and bytes passed on so far.
    package struct Counts: Sendable {
        /// Connections accepted.
        package fileprivate(set) var connections = 0
        /// Connections that are open now.
        package fileprivate(set) var connectionsOpen = 0
        /// Bytes written towards the origin.
        package fileprivate(set) var bytesUp = 0
        /// Bytes written towards clients.
        package fileprivate(set) var bytesDown = 0
    }

    /// The system call that failed when there is no socket to listen on.
    package struct ListenError: Error {
        /// `errno`.
        package let code: Int32
    }

    /// The port to connect to, chosen by the system.
    package let port: UInt16
    private let loop: PollLoop
    private let board: FaultProxyBoard

    /// Listens and starts its thread.
    ///
    /// - Parameters:
    ///   - origin: the server that gets every connection.
    ///   - plan: the faults of each connection.
    /// - Throws: ``ListenError`` or `PollLoopError` when the process has no descriptor or thread.
    package init(to origin: Origin, _ plan: @escaping Plan = { _ in Faults() }) throws {
        let listener = try Loopback.listen()
        port = listener.port
        do {
            loop = try PollLoop(name: "fault-proxy")
        } catch {
            close(listener.descriptor)
            throw error
        }
        board = FaultProxyBoard(
            loop: loop,
            listener: listener.descriptor,
            origin: origin,
            plan: plan
        )
        loop.execute { [board] in board.start() }
    }

    /// Makes a proxy in front of a port on 127.0.0.1.
    package convenience init(to originPort: UInt16, _ plan: @escaping Plan) throws {
        try self.init(to: .port(originPort), plan)
    }

    /// Makes a proxy with the same faults for every connection.
    package convenience init(to originPort: UInt16, _ faults: Faults = Faults()) throws {
        try self.init(to: originPort) { _ in faults }
    }

    deinit { stop() }

    /// The counts so far.
    package var counts: Counts { board.counts.withLock { $0 } }

    /// Loses the next `count` answers.
    ///
    /// Each time the origin sends something, its connection is reset instead of passing that on.
    /// The client's request has been performed by then.
    package func cutAnswers(_ count: Int = 1) {
        board.answersToCut.withLock { $0 += count }
    }

    /// The number of answers still to be lost.
    package var answersToCut: Int { board.answersToCut.withLock(\.self) }

    /// Ends all current connections with a reset; further ones are accepted.
    package func breakConnections() { loop.execute { [board] in board.breakConnections() } }

    /// Lets all current connections stay open and pass nothing on; further ones work.
    package func silenceConnections() { loop.execute { [board] in board.silenceConnections() } }

    /// Ends all connections and stops listening; a second call does nothing.
    package func stop() {
        loop.execute { [board] in board.stop() }
        loop.stop()
    }
}

/// The listener and its connections.
///
/// `@unchecked Sendable` holds because everything not guarded by a `Mutex` is touched only in
/// closures that the loop executes.
final class FaultProxyBoard: @unchecked Sendable {
    let loop: PollLoop
    let counts = Mutex(FaultProxy.Counts())
    let answersToCut = Mutex(0)
    private let listener: Int32
    private let origin: FaultProxy.Origin
    private let plan: FaultProxy.Plan
    private var connections: [Int: FaultConnection] = [:]
    private var isStopped = false

    init(
        loop: PollLoop,
        listener: Int32,
        origin: FaultProxy.Origin,
        plan: @escaping FaultProxy.Plan
    ) {
        self.loop = loop
        self.listener = listener
        self.origin = origin
        self.plan = plan
    }

    func start() {
        do {
            try loop.register(listener, for: .readable) { [unowned self] _ in accept() }
        } catch {
            // Without a watch no connection is ever accepted, which the test under way will show.
        }
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        loop.deregister(listener)
        close(listener)
        breakConnections()
    }

    func breakConnections() {
        for connection in connections.values { connection.abort() }
    }

    func silenceConnections() {
        for connection in connections.values { connection.fallSilent() }
    }

    func forget(_ number: Int) {
        connections[number] = nil
        counts.withLock { $0.connectionsOpen -= 1 }
    }

    /// Returns whether the bytes that the origin has just sent are to be lost.
    func mustCutAnswer() -> Bool {
        answersToCut.withLock { count in
            guard count > 0 else { return false }
            count -= 1
            return true
        }
    }

    func count(_ bytes: Int, isDown: Bool) {
        counts.withLock { counts in
            if isDown { counts.bytesDown += bytes } else { counts.bytesUp += bytes }
        }
    }

    private func connect() -> Int32 {
        switch origin {
        case .port(let port): Loopback.connect(port)
        case .socket(let path): Loopback.connect(toSocket: path)
        }
    }

    private func accept() {
        while case let client = Loopback.accept(listener), client >= 0 {
            let number = counts.withLock { counts in
                counts.connections += 1
                return counts.connections
            }
            let origin = connect()
            guard origin >= 0 else {
                Loopback.reset(client)
                continue
            }
            let connection = FaultConnection(
                number,
                client: client,
                origin: origin,
                faults: plan(number),
                board: self
            )
            connections[number] = connection
            counts.withLock { $0.connectionsOpen += 1 }
            connection.advance()
        }
    }
}

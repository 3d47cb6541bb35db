internal import CLibPQ
import PollLoop
import Glibc
import Synchronization

/// The opening of a session, on a thread of its own.
///
/// libpq looks up host names by getaddrinfo(3) and reads files (PostgreSQL manual, libpq,
/// "Asynchronous Connection Processing"), and either may block for as long as a name server or a
/// disk does not answer. On a loop, all of its connections would stand still meanwhile. As libpq
/// does the whole opening, several hosts, service files, `PG*` variables and the names in
/// certificates keep their usual meaning.
struct Handshake: Sendable {
    /// The maximum at once in this process, counting those that a silent name server blocks.
    static let countMax = 64

    /// The reason why there is no session.
    struct Failure: Error {
        let summary: String
        /// The text from libpq or the server.
        let details: String
    }

    private static let count = Atomic(0)

    private let configuration: ConnectionConfiguration

    init(_ configuration: ConnectionConfiguration) { self.configuration = configuration }

    /// Opens a session and calls `completion` on its thread, or at once if none can be started.
    func start(_ completion: @escaping @Sendable (Result<OpenedSession, Failure>) -> Void) {
        guard Self.count.add(1, ordering: .relaxed).newValue <= Self.countMax else {
            Self.count.subtract(1, ordering: .relaxed)
            return completion(Self.refusal("too many connections are being opened"))
        }
        do throws(PollLoopError) {
            try BlockingThread.start(name: "libpq-open") {
                let result = Result { () throws(Failure) in try open() }
                Self.count.subtract(1, ordering: .relaxed)
                completion(result)
            }
        } catch {
            Self.count.subtract(1, ordering: .relaxed)
            completion(Self.refusal("\(error)"))
        }
    }

    private static func refusal(_ details: String) -> Result<OpenedSession, Failure> {
        .failure(Failure(summary: "the connection cannot be opened", details: details))
    }

    private static func silence(of session: OpenedSession) -> Failure {
        Failure(summary: "the server did not answer in time", details: session.message)
    }

    private func open() throws(Failure) -> OpenedSession {
        let deadline = ContinuousClock.now.advanced(by: configuration.connectTimeout)
        guard let session = begin() else {
            throw Failure(summary: "the connection cannot be opened", details: "out of memory")
        }
        guard unsafe PQstatus(session.server) != CONNECTION_BAD else {
            throw Failure(summary: "the server cannot be reached", details: session.message)
        }
        // Otherwise libpq prints the server's notices on the standard error.
        _ = unsafe PQsetNoticeReceiver(session.server, { _, _ in }, nil)
        if session.hasSeveralHosts { return try startAgain(session) }
        // The manual asks to start as if the last poll had wanted to write.
        var interest = POLLOUT
        var isPassedOver = false
        while true {
            // Another address of the same host may answer: each has two thirds of the time left.
            let isPassable = session.isReaching && session.hasHostName
            let left = deadline - .now
            let patience = isPassable ? left * 2 / 3 : left
            let isReady = session.waits(
                for: interest,
                until: ContinuousClock.now.advanced(by: patience)
            )
            if !isReady {
                guard isPassable else { throw Self.silence(of: session) }
                session.passOver()
                isPassedOver = true
            }
            switch unsafe PQconnectPoll(session.server) {
            case PGRES_POLLING_READING: interest = POLLIN
            case PGRES_POLLING_WRITING: interest = POLLOUT
            case PGRES_POLLING_OK:
                tellAddress(session)
                return session
            default:
                if isPassedOver { throw Self.silence(of: session) }
                throw Failure(
                    summary: "the server refused the connection",
                    details: session.message
                )
            }
        }
    }

    /// Opens the session with libpq's own waiting, which passes over a host that does not answer.
    ///
    /// Only its blocking functions keep to `connect_timeout` (PostgreSQL manual, libpq, "Database
    /// Connection Control Functions"). The one that makes a connection would print the server's
    /// notices; this one keeps the receiver, at the price of a socket that is closed unused.
    private func startAgain(_ session: OpenedSession) throws(Failure) -> OpenedSession {
        unsafe PQreset(session.server)
        guard unsafe PQstatus(session.server) == CONNECTION_OK else {
            throw Failure(
                summary: "no server accepted the connection",
                details: session.message
            )
        }
        tellAddress(session)
        return session
    }

    private func tellAddress(_ session: OpenedSession) {
        if let peer = ServerAddress(of: unsafe PQsocket(session.server)) {
            configuration.onConnected(peer)
        }
    }

    private func begin() -> OpenedSession? {
        var keywords = CStringTable()
        var values = CStringTable()
        for (keyword, value) in configuration.connectionParameters {
            keywords.append(keyword)
            values.append(value)
        }
        let server = unsafe keywords.withPointers { keywords in
            unsafe values.withPointers { values in
                unsafe PQconnectStartParams(keywords, values, 1)
            }
        }
        return unsafe server.map { unsafe OpenedSession($0) }
    }
}

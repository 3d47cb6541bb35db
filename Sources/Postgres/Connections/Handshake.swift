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
        // The manual asks to start as if the last poll had wanted to write.
        var interest = POLLOUT
        while true {
            guard session.waits(for: interest, until: deadline) else {
                throw Failure(
                    summary: "the server did not answer in time",
                    details: session.message
                )
            }
            switch unsafe PQconnectPoll(session.server) {
            case PGRES_POLLING_READING: interest = POLLIN
            case PGRES_POLLING_WRITING: interest = POLLOUT
            case PGRES_POLLING_OK:
                if let peer = ServerAddress(of: unsafe PQsocket(session.server)) {
                    configuration.onConnected(peer)
                }
                return session
            default:
                throw Failure(
                    summary: "the server refused the connection",
                    details: session.message
                )
            }
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

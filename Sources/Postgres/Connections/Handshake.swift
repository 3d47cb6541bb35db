internal import CLibPQ
import EventLoop
import Glibc
import Synchronization

/// The opening of a session, on a thread of its own.
///
/// libpq looks host names up by getaddrinfo(3) and reads files (PostgreSQL manual, libpq,
/// "Asynchronous Connection Processing"), either of which may block for as long as a name server
/// or a disk is silent. On a loop all of its connections would stand still meanwhile. Left to
/// libpq as a whole, several hosts, service files, `PG*` variables and the names in certificates
/// mean what they always do.
struct Handshake: Sendable {
    /// At once in this process; those that a silent name server holds count until it gives up.
    static let countMax = 64

    /// Why there is no session.
    struct Failure: Error {
        let summary: String
        /// libpq's or the server's words.
        let details: String
    }

    private static let count = Atomic(0)

    private let configuration: ConnectionConfiguration

    init(_ configuration: ConnectionConfiguration) { self.configuration = configuration }

    /// Opens a session and calls `completion` on the thread, at once where there is none to be had.
    func start(_ completion: @escaping @Sendable (Result<OpenedSession, Failure>) -> Void) {
        guard Self.count.add(1, ordering: .relaxed).newValue <= Self.countMax else {
            Self.count.subtract(1, ordering: .relaxed)
            return completion(Self.refusal("too many connections are being opened"))
        }
        do throws(EventLoopError) {
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
        // libpq prints the server's notices on the standard error otherwise.
        _ = unsafe PQsetNoticeReceiver(session.server, { _, _ in }, nil)
        // The manual asks to begin as if the last poll had wanted to write.
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
            case PGRES_POLLING_OK: return session
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

/// A session on its way from the thread that opens it to the loop that uses it.
///
/// Proof for `@unchecked Sendable`: it has one user at a time, first the thread, which lets go of
/// it when it hands it over, then the loop, which takes the session out; libpq lets a session move
/// between threads that do not use it at once (PostgreSQL manual, libpq, "Behavior in Threaded
/// Programs"). Whatever is not taken is closed.
@safe final class OpenedSession: @unchecked Sendable {
    fileprivate let server: OpaquePointer
    private var isTaken = false

    fileprivate init(_ server: OpaquePointer) { unsafe self.server = unsafe server }

    deinit { if !isTaken { unsafe PQfinish(server) } }

    /// Hands libpq's connection to the caller, who finishes it; to be called once.
    func take() -> OpaquePointer {
        isTaken = true
        return unsafe server
    }

    fileprivate var message: String {
        guard let message = unsafe PQerrorMessage(server) else { return "" }
        return unsafe String(cString: message)
    }

    /// Whether the socket is ready before the deadline.
    fileprivate func waits(for interest: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        var entry = pollfd(fd: unsafe PQsocket(server), events: Int16(interest), revents: 0)
        while true {
            let left = deadline - .now
            guard left > .zero else { return false }
            let count = unsafe poll(&entry, 1, Int32(clamping: Int64(left / .milliseconds(1)) + 1))
            if count > 0 { return true }
            if count < 0, errno != EINTR { return false }
        }
    }
}

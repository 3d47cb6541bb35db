import CCurl
import Glibc

/// The sockets of a loop's connections by their ends, because libcurl names only the ends of the
/// connection that a request is to use (CURLOPT_PREREQFUNCTION(3)).
///
/// It is confined to the loop's thread, and outlives the multi handle, whose connections refer to
/// it.
final class OpenSockets {
    /// The two ends of a connection.
    struct Ends: Hashable {
        let local: SocketAddress
        let peer: SocketAddress
    }

    /// A connection that has served a request; over HTTP/2, it may serve several at once.
    final class Connection {
        let socket: Int32
        fileprivate let ends: Ends
        fileprivate var isOpen = true
        /// The number of requests that are under way.
        private var requests = 0
        /// How much it had received when a request ran out of time over which nothing had come.
        private var bytesWhenSilent: Int64?

        fileprivate init(_ socket: Int32, between ends: Ends) {
            self.socket = socket
            self.ends = ends
        }

        /// Whether nothing has come since before a request that ran out of time.
        ///
        /// Whoever knew of this connection may be gone, as behind a balancer, while a new one would
        /// be answered. Libcurl closes a connection of HTTP/1 whose request is given up; of one of
        /// HTTP/2 it ends the stream alone, and gives the connection to the next request.
        var isSilent: Bool { bytesWhenSilent.map { hasReceivedNothing(since: $0) } ?? false }

        /// Whether requests are under way.
        var isInUse: Bool { requests > 0 }

        /// Enters a request that begins.
        ///
        /// - Returns: the number of bytes that were received before; -1 when that is not known.
        func enter() -> Int64 {
            requests += 1
            return ccurl_bytes_received(socket)
        }

        /// Enters the end of a request.
        ///
        /// A silent connection is shut down after its last request, so that libcurl finds it dead.
        /// Other requests that still wait have more patience, perhaps rightly, and keep it.
        ///
        /// - Parameter bytes: what ``enter()`` has returned, if the request ran out of time.
        func leave(timedOutAfter bytes: Int64?) {
            requests -= 1
            guard isOpen else { return }
            if let bytes, hasReceivedNothing(since: bytes) { bytesWhenSilent = bytes }
            if requests == 0, isSilent { shutdown(socket, Int32(SHUT_RDWR)) }
        }

        private func hasReceivedNothing(since bytes: Int64) -> Bool {
            bytes >= 0 && ccurl_bytes_received(socket) == bytes
        }
    }

    /// The sockets whose connections have served no request yet; also those that libcurl has closed
    /// without a word, because they never became a connection.
    private var unused: Set<Int32> = []
    private var connections: [Ends: Connection] = [:]
    private var bySocket: [Int32: Connection] = [:]

    /// Enters a socket that is to be connected.
    func open(_ socket: Int32) { unused.insert(socket) }

    /// Returns the connection that has served a request between these ends.
    func connection(between pair: Ends) -> Connection? { connections[pair] }

    /// Gives the one of `opened` that has these ends to its first request.
    ///
    /// - Returns: its connection; nil if there is none.
    func use(_ opened: [Int32], between pair: Ends) -> Connection? {
        let socket = opened.first { socket in
            unused.contains(socket) && ccurl_local_port(socket) == Int32(pair.local.port)
        }
        guard let socket else { return nil }
        unused.remove(socket)
        let connection = Connection(socket, between: pair)
        bySocket[socket] = connection
        connections[pair] = connection
        return connection
    }

    /// Closes a socket, and returns what close(2) does.
    func close(_ socket: Int32) -> Int32 {
        unused.remove(socket)
        if let connection = bySocket.removeValue(forKey: socket) {
            connection.isOpen = false
            connections[connection.ends] = nil
        }
        return Glibc.close(socket)
    }
}

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

    /// The sockets whose connections have served no request yet; also those that libcurl has closed
    /// without a word, because they never became a connection.
    private var unused: Set<Int32> = []
    private var sockets: [Ends: Int32] = [:]
    private var ends: [Int32: Ends] = [:]

    /// Enters a socket that is to be connected.
    func open(_ socket: Int32) { unused.insert(socket) }

    /// Returns the socket of a connection that has served a request.
    func socket(between pair: Ends) -> Int32? { sockets[pair] }

    /// Gives the one of `opened` that has these ends to its first request.
    ///
    /// - Returns: false if there is none.
    func use(_ opened: [Int32], between pair: Ends) -> Bool {
        let socket = opened.first { socket in
            unused.contains(socket) && ccurl_local_port(socket) == Int32(pair.local.port)
        }
        guard let socket else { return false }
        unused.remove(socket)
        ends[socket] = pair
        sockets[pair] = socket
        return true
    }

    /// Closes a socket, and returns what close(2) does.
    func close(_ socket: Int32) -> Int32 {
        unused.remove(socket)
        if let pair = ends.removeValue(forKey: socket) { sockets[pair] = nil }
        return Glibc.close(socket)
    }
}

import Glibc
import Postgres
import Synchronization

/// The addresses at which this service and its database listen, which no client reaches through
/// it, whatever is allowed.
///
/// With them a client could ask the service in the service's own name, or the database past it.
final class OwnEndpoints: Sendable {
    private struct State {
        /// The ports at which something of ours listens on this machine.
        var localPorts: Set<UInt16> = []
        /// The addresses of the database on other machines.
        var remote: Set<ServerAddress> = []
    }

    private let state = Mutex(State())

    /// Adds the port of a listener of this process.
    func add(port: Int) {
        guard let port = UInt16(exactly: port) else { return }
        state.withLock { _ = $0.localPorts.insert(port) }
    }

    /// Adds the server at the other end of a connection.
    func add(_ server: ServerAddress) {
        let isLocal = Self.isLocal(server.bytes)
        state.withLock { state in
            if isLocal {
                state.localPorts.insert(server.port)
            } else {
                state.remote.insert(server)
            }
        }
    }

    /// Returns whether something of ours listens at `address`.
    func contain(_ address: [UInt8], port: UInt16) -> Bool {
        let (isRemote, isPort) = state.withLock { state in
            (
                state.remote.contains(ServerAddress(bytes: address, port: port)),
                state.localPorts.contains(port)
            )
        }
        // The addresses of this machine are looked up for these few ports alone.
        return isRemote || (isPort && Self.isLocal(address))
    }

    /// Returns whether an address leads to this machine.
    static func isLocal(_ address: [UInt8]) -> Bool {
        if address.count == 4, address[0] == 127 { return true }
        // An unspecified address leads to this machine, too (ip(7)).
        if address.allSatisfy({ $0 == 0 }) { return true }
        if address.count == 16, address.dropLast().allSatisfy({ $0 == 0 }), address[15] == 1 {
            return true
        }
        var list: UnsafeMutablePointer<ifaddrs>?
        // What cannot be known is taken for our own.
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            if let own = interface.ifa_addr, bytes(of: own) == address { return true }
        }
        return false
    }

    private static func bytes(of address: UnsafeMutablePointer<sockaddr>) -> [UInt8]? {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) {
                Array($0)
            }
        case AF_INET6:
            return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) {
                Array($0)
            }
        default: return nil
        }
    }
}

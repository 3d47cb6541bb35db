import Glibc
import Postgres
import Synchronization

/// The addresses at which this service, its other instances and its database listen, which no
/// client reaches through it, whatever is allowed.
///
/// With them a client could ask the service in the service's own name, or the database past it.
final class OwnEndpoints: Sendable {
    private struct State {
        /// The ports at which something of ours listens on this machine.
        var localPorts: Set<UInt16> = []
        /// Those of them at which this process listens.
        var listeningPorts: Set<UInt16> = []
        /// The addresses of the database on other machines.
        var remote: Set<ServerAddress> = []
        /// The ports of other instances on this machine, and their addresses on others.
        var neighbourPorts: Set<UInt16> = []
        var neighbours: Set<ServerAddress> = []
    }

    private let state = Mutex(State())

    /// Adds the port of a listener of this process.
    func add(port: Int) {
        guard let port = UInt16(exactly: port) else { return }
        state.withLock { state in
            state.localPorts.insert(port)
            state.listeningPorts.insert(port)
        }
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

    /// Sets where other instances listen; those on this machine by their ports alone.
    func setOthers(_ neighbours: Set<ServerAddress>, onThisMachine ports: Set<UInt16>) {
        state.withLock { ($0.neighbours, $0.neighbourPorts) = (neighbours, ports) }
    }

    /// The ports at which this process listens.
    var ports: Set<UInt16> { state.withLock { $0.listeningPorts } }

    /// Returns whether something of ours listens at `address`.
    func contain(_ address: [UInt8], port: UInt16) -> Bool {
        let (isRemote, isPort) = state.withLock { state in
            let server = ServerAddress(bytes: address, port: port)
            return (
                state.remote.contains(server) || state.neighbours.contains(server),
                state.localPorts.contains(port) || state.neighbourPorts.contains(port)
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
        // What cannot be known is taken for our own.
        return interfaceAddresses()?.contains(address) ?? true
    }

    /// Returns the addresses of this machine's interfaces; nil if the system does not tell them.
    static func interfaceAddresses() -> [[UInt8]]? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var addresses: [[UInt8]] = []
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            if let address = interface.ifa_addr.flatMap(bytes(of:)) { addresses.append(address) }
        }
        return addresses
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

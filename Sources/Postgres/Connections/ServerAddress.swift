import Glibc

/// The Internet address of a server that a connection leads to.
package struct ServerAddress: Sendable, Hashable {
    /// The 4 bytes (IPv4) or 16 (IPv6) in network order.
    package let bytes: [UInt8]
    /// The port in host order.
    package let port: UInt16

    /// Creates an address of 4 or 16 bytes.
    package init(bytes: [UInt8], port: UInt16) {
        self.bytes = bytes
        self.port = port
    }

    /// Reads the address of the other side of a socket; nil for one that is not of the Internet.
    init?(of descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isKnown = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getpeername(descriptor, $0, &length) == 0
            }
        }
        guard isKnown else { return nil }
        let raw = unsafe withUnsafeBytes(of: storage) { unsafe Array($0) }
        // The address follows the family and the port, and in IPv6 also the flow; see ip(7) and
        // ipv6(7).
        switch Int32(storage.ss_family) {
        case AF_INET: bytes = Array(raw[4..<8])
        case AF_INET6: bytes = Array(raw[8..<24])
        default: return nil
        }
        port = UInt16(raw[2]) << 8 | UInt16(raw[3])
    }
}

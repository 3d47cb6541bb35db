import NIOCore

/// The address of a client: an IPv4 address, or a 64-bit IPv6 network, because every host has a
/// whole one.
struct PeerAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    /// Reads the address of a socket.
    ///
    /// - Returns: nil for a socket address that is not an Internet address.
    init?(_ address: SocketAddress?) {
        guard let address else { return nil }
        let all = address.withSockAddr { Array(UnsafeRawBufferPointer(start: $0, count: $1)) }
        switch address {
        // The address follows the family and the port, and in IPv6 also the flow; see ip(7) and
        // ipv6(7).
        case .v4: bytes = Array(all[4..<8])
        case .v6:
            let address = all[8..<24]
            let isMapped =
                address.prefix(10).allSatisfy { $0 == 0 } && all[18...19] == [0xFF, 0xFF]
            bytes = Array(isMapped ? address.suffix(4) : address.prefix(8))
        case .unixDomainSocket: return nil
        }
    }
}

import CCurl
import Glibc

/// An IP address and a port.
package struct SocketAddress: Sendable, Hashable {
    /// The 4 bytes (IPv4) or 16 (IPv6) in network order; IPv4-mapped IPv6 is given as IPv4.
    package let bytes: [UInt8]
    /// The port in host order.
    package let port: UInt16

    private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    /// Creates an address, or nil when there are neither 4 nor 16 bytes.
    package init?(bytes: [UInt8], port: UInt16) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
        self.port = port
    }

    /// Reads an address in text form as inet_pton(3) does: no names, no short or octal forms.
    package init?(text: String, port: UInt16) {
        // Read before each request on a kept connection, and so without arrays that are not kept.
        var short = in_addr()
        var long = in6_addr()
        if unsafe inet_pton(AF_INET, text, &short) == 1 {
            self.init(bytes: unsafe withUnsafeBytes(of: short) { unsafe Array($0) }, port: port)
        } else if unsafe inet_pton(AF_INET6, text, &long) == 1 {
            self.init(bytes: unsafe withUnsafeBytes(of: long) { unsafe Array($0) }, port: port)
        } else {
            return nil
        }
    }

    /// The address in the form that inet_ntop(3) writes, without the port.
    var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else {
            return ""
        }
        let address = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: address, as: UTF8.self)
    }

    /// Reads the address that a socket would connect to; nil for families other than IP.
    init?(_ address: UnsafePointer<sockaddr>, length: UInt32) {
        let raw = unsafe UnsafeRawBufferPointer(start: address, count: Int(length))
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET where raw.count >= MemoryLayout<sockaddr_in>.size:
            let value = unsafe raw.loadUnaligned(as: sockaddr_in.self)
            let host = unsafe withUnsafeBytes(of: value.sin_addr) { unsafe Array($0) }
            self.init(bytes: host, port: UInt16(bigEndian: value.sin_port))
        case AF_INET6 where raw.count >= MemoryLayout<sockaddr_in6>.size:
            let value = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
            let host = unsafe withUnsafeBytes(of: value.sin6_addr) { unsafe Array($0) }
            self.init(bytes: host, port: UInt16(bigEndian: value.sin6_port))
        default:
            return nil
        }
    }
}

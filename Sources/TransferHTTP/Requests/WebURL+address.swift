import Glibc
import TransferModel

extension WebURL {
    /// Returns whether the host is an address, or a name for this machine, that `policy` does not
    /// allow.
    ///
    /// This only tells a client early: the address of a name is checked at each connection, where
    /// it is known.
    func isRefused(by policy: EgressPolicy) -> Bool {
        guard let address = writtenAddress else { return false }
        return !policy.allows(address)
    }

    /// Returns whether a host is an IPv4 address with a dot behind it: the address to some parsers,
    /// and a name to others, libcurl among them.
    static func isAddressWithDot(_ host: ArraySlice<UInt8>) -> Bool {
        guard host.last == UInt8(ascii: ".") else { return false }
        var words = in_addr()
        return inet_aton(String(decoding: host.dropLast(), as: UTF8.self), &words) != 0
    }

    /// The address of the host, 4 or 16 bytes in network order; nil for a name.
    ///
    /// inet_aton(3) reads the short, octal, hexadecimal and single-number forms that libcurl reads
    /// too.
    private var writtenAddress: [UInt8]? {
        var words = in_addr()
        if inet_aton(host, &words) != 0 { return withUnsafeBytes(of: words) { Array($0) } }
        var bytes = in6_addr()
        if inet_pton(AF_INET6, host, &bytes) == 1 {
            return withUnsafeBytes(of: bytes) { Array($0) }
        }
        // RFC 6761 §6.3: `localhost` and all names that end with it are this machine.
        let labels = host.lowercased().split(separator: ".")
        return labels.last == "localhost" ? [127, 0, 0, 1] : nil
    }
}

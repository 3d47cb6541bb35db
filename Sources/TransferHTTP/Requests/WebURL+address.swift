import Glibc
import TransferModel

extension WebURL {
    /// Whether the host is written as an address, or as a name for this machine, that `policy`
    /// does not allow.
    ///
    /// This only tells a client early: what a name leads to is decided at each connection, where
    /// it is known.
    func isRefused(by policy: EgressPolicy) -> Bool {
        guard let address = writtenAddress else { return false }
        return !policy.allows(address)
    }

    /// 4 or 16 bytes in network order; nil for a name.
    ///
    /// inet_aton(3) reads the short, octal, hexadecimal and single-number forms that libcurl
    /// reads too.
    private var writtenAddress: [UInt8]? {
        var words = in_addr()
        if inet_aton(host, &words) != 0 { return withUnsafeBytes(of: words) { Array($0) } }
        var bytes = in6_addr()
        if inet_pton(AF_INET6, host, &bytes) == 1 {
            return withUnsafeBytes(of: bytes) { Array($0) }
        }
        // RFC 6761 §6.3: `localhost` and what ends with it is this machine.
        let labels = host.lowercased().split(separator: ".")
        return labels.last == "localhost" ? [127, 0, 0, 1] : nil
    }
}

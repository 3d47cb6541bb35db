import Glibc

/// Where the API may be offered without TLS, which sends keys as they are.
enum PlainHTTP: String, CaseIterable {
    /// To this machine alone.
    case loopback
    /// On any address, because the network is the operator's or a proxy in front has TLS.
    case anywhere

    /// Returns whether `host` is an address of this machine that no other machine reaches.
    static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        var address = in_addr()
        if inet_pton(AF_INET, host, &address) == 1 {
            return UInt32(bigEndian: address.s_addr) >> 24 == 127
        }
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, host, &bytes) == 1 else { return false }
        return bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }
}

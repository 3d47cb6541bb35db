import TransferModel

/// The keys of the hosts that one request names.
///
/// A key is a digest, and most tasks of a request are for the same few hosts.
struct HostKeys {
    private struct Host: Hashable {
        let name: String
        let port: Int
    }

    private var keys: [Host: HostKey] = [:]

    /// Returns the key of the host of `url`.
    mutating func key(of url: WebURL) -> HostKey {
        let host = Host(name: url.host, port: url.port)
        if let known = keys[host] { return known }
        let key = HostKey(host: url.host, port: url.port)
        keys[host] = key
        return key
    }
}

import Glibc

/// The number of sockets and files that the process may have open at once.
struct DescriptorLimit {
    let count: Int

    /// The number of descriptors for a transfer, which needs a socket and a file.
    private static let perTransfer = 2
    /// The number reserved for requests, webhooks, the database and the program itself.
    private static let reserve = 1024

    /// Raises the limit as far as the system allows; the usual soft limit of 1,024 is outdated.
    static func raised() -> DescriptorLimit {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(kind, &limit) == 0 else { return DescriptorLimit(count: 0) }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let inForce = setrlimit(kind, &limit) == 0 ? limit.rlim_max : before
        return DescriptorLimit(count: Int(clamping: inForce))
    }

    /// The number of simultaneous transfers that the limit allows.
    var transfersMax: Int { max(0, (count - Self.reserve) / Self.perTransfer) }
}

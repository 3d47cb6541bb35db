import Glibc

/// How many sockets and files the process may have open at once.
struct DescriptorLimit {
    let count: Int

    /// A transfer needs a socket and a file.
    private static let perTransfer = 2
    /// For requests, webhooks, the database and the program itself.
    private static let reserve = 1024

    /// Raises the limit as far as the system allows: the usual soft one of 1,024 is for other times.
    static func raised() -> DescriptorLimit {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(kind, &limit) == 0 else { return DescriptorLimit(count: 0) }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let inForce = setrlimit(kind, &limit) == 0 ? limit.rlim_max : before
        return DescriptorLimit(count: Int(clamping: inForce))
    }

    /// Transfers at once that it is enough for.
    var transfersMax: Int { max(0, (count - Self.reserve) / Self.perTransfer) }
}

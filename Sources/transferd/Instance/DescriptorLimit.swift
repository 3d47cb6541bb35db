import CLinux
import Glibc
import PollLoop
import TransferHTTP

/// The number of sockets and files that the process may have open at once.
struct DescriptorLimit {
    let count: Int

    /// The number of descriptors for a transfer, which needs a socket and a file.
    private static let perTransfer = 2
    /// The number reserved for requests, webhooks, the database and the program itself.
    private static let reserve = 1024

    /// The number that the program has open besides those for each of its threads: connections to
    /// the database, files and event loops.
    private static let ofProgram = 80
    /// The number for each thread that runs transfers, and for each processor, which has an event
    /// loop of the API.
    private static let perTransferThread = 4
    private static let perProcessor = 3

    /// The number that an instance needs beside its clients and the transfers.
    private static func ofInstance(transferThreads: Int) -> Int {
        ofProgram + perTransferThread * transferThreads + perProcessor * Processors.count
            + clinux_free_descriptors_min + ConnectionBounds.reserveDefault
    }

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

    /// Checks that an instance with this limit could run a task at all, and answer some clients.
    ///
    /// - Parameter transferThreads: the number of threads that run transfers.
    /// - Throws: ``TooFewDescriptors`` if it could not.
    func check(transferThreads: Int) throws(TooFewDescriptors) {
        let needed =
            Self.ofInstance(transferThreads: transferThreads)
            + ConnectionBounds.maxRange.lowerBound
        if count < needed { throw TooFewDescriptors(count: count, needed: needed) }
    }

    /// Returns the number of clients' connections that leave enough to transfers, or half of what
    /// there is for both if that is more.
    ///
    /// - Parameters:
    ///   - transfers: the number of simultaneous transfers.
    ///   - transferThreads: the number of threads that run them.
    /// - Returns: at least the least number that may be configured.
    func connectionsMax(beside transfers: Int, transferThreads: Int) -> Int {
        let left = count - Self.ofInstance(transferThreads: transferThreads)
        return max(
            ConnectionBounds.maxRange.lowerBound,
            left - Self.perTransfer * transfers,
            left / 2
        )
    }

    /// The number of simultaneous transfers that the limit allows.
    var transfersMax: Int { max(0, (count - Self.reserve) / Self.perTransfer) }
}

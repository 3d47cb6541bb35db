import CCurl
import Foundation
import Glibc
import Synchronization

/// The names that a loop's transfers wait for, and the recent answers for other names.
///
/// libcurl would start a thread for each name and abandon it when the transfer ends: a thousand
/// names that nobody answers are a thousand threads. Here each name is looked up once, however
/// many transfers wait for it, on the threads of a pool, and not at all when no transfer waits any
/// more. Each owner that waits for a name queues its question, so that none waits behind the names
/// of another. Confined to the loop's thread; the questions are not.
struct NameLookups {
    typealias Instant = ContinuousClock.Instant

    /// A part of a group of transfers, whose lookups take turns with those of others.
    struct Owner: Hashable, Sendable {
        var group: UUID?
        var subgroup: UUID?
    }

    /// A question that is asked once, by the first thread that gets to it.
    final class Question: Sendable {
        let host: String
        private let isOpen = Atomic(true)

        init(_ host: String) { self.host = host }

        /// Records that no transfer waits for the answer any more.
        func drop() { isOpen.store(false, ordering: .relaxed) }

        /// Asks the system; blocks until it answers.
        ///
        /// - Returns: addresses in the order in which to try them, none where there are none, or
        ///   nil when nobody waits for the answer, or another thread asks.
        func ask() -> [String]? {
            guard isOpen.exchange(false, ordering: .relaxed) else { return nil }
            return addresses(of: host)
        }
    }

    /// Counts the addresses that are kept of a name, the first ones of each family: it may have
    /// thousands, of which most would never be tried.
    struct Room {
        /// The maximum number of addresses of one family.
        static let ofFamily = 8
        private var counts: [Int32: Int] = [:]

        /// Returns whether there is room for an address of a family, and takes it.
        mutating func take(_ family: Int32) -> Bool {
            guard counts[family, default: 0] < Self.ofFamily else { return false }
            counts[family, default: 0] += 1
            return true
        }
    }

    private struct Found {
        let addresses: [String]
        let until: Instant
    }

    private struct Pending {
        let question: Question
        var transfers: Set<UInt64> = []
        /// Those that have queued the question.
        var owners: Set<Owner> = []
    }

    /// The time for which an answer is kept, as in libcurl (CURLOPT_DNS_CACHE_TIMEOUT(3)).
    private static let keptFor: Duration = .seconds(60)
    /// The number of answers that are kept; beyond it, all are dropped and looked up again.
    private static let foundMax = 10_000

    private var found: [String: Found] = [:]
    private var pending: [String: Pending] = [:]

    /// Returns the known addresses of a name, or nil.
    func known(_ host: String, at now: Instant) -> [String]? {
        found[host].flatMap { $0.until > now ? $0.addresses : nil }
    }

    /// Makes a transfer of an owner wait for a name.
    ///
    /// - Returns: the question, which the owner has to queue, unless it has done so already.
    mutating func wait(_ transfer: UInt64, for host: String, of owner: Owner) -> Question? {
        pending[host, default: Pending(question: Question(host))].transfers.insert(transfer)
        guard pending[host]?.owners.insert(owner).inserted == true else { return nil }
        return pending[host]?.question
    }

    /// Records that a transfer no longer waits for a name.
    mutating func leave(_ transfer: UInt64, _ host: String) {
        guard pending[host]?.transfers.remove(transfer) != nil,
            let entry = pending[host], entry.transfers.isEmpty
        else { return }
        entry.question.drop()
        pending[host] = nil
    }

    /// Records the answer to a question.
    ///
    /// - Returns: the transfers that have waited for it.
    mutating func answered(
        _ question: Question,
        _ addresses: [String],
        at now: Instant
    ) -> Set<UInt64> {
        if !addresses.isEmpty {
            if found.count >= Self.foundMax { found = [:] }
            found[question.host] = Found(addresses: addresses, until: now + Self.keptFor)
        }
        guard let entry = pending[question.host], entry.question === question else { return [] }
        pending[question.host] = nil
        return entry.transfers
    }
}

/// Returns the first addresses that getaddrinfo(3) has for a name, in its order (RFC 6724).
private func addresses(of host: String) -> [String] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = IPv6Support.ofSystem.family
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
    defer { unsafe freeaddrinfo(first) }
    var texts: [String] = []
    var room = NameLookups.Room()
    var next = unsafe first
    while let entry = unsafe next {
        // libcurl would not read an address with a zone, which is never the address of an origin.
        if let text = unsafe numericHost(entry.pointee), !text.contains("%"),
            unsafe room.take(entry.pointee.ai_family)
        {
            texts.append(text)
        }
        unsafe next = entry.pointee.ai_next
    }
    return texts
}

private func numericHost(_ entry: addrinfo) -> String? {
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let code = unsafe getnameinfo(
        entry.ai_addr,
        entry.ai_addrlen,
        &text,
        socklen_t(text.count),
        nil,
        0,
        NI_NUMERICHOST
    )
    guard code == 0 else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}

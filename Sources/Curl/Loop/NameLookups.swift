import CCurl
import Glibc
import Synchronization

/// The names that a loop's transfers wait for, and what was found of others lately.
///
/// libcurl would start a thread for each name and leave it to itself when the transfer ends: a
/// thousand names that nobody answers are a thousand threads. Here each name is asked for once,
/// however many wait for it, on the threads of a pool, and not at all when nobody waits any more.
/// Confined to the loop's thread; the questions are not.
struct NameLookups {
    typealias Instant = ContinuousClock.Instant

    /// A question that is being asked.
    final class Question: Sendable {
        let host: String
        private let isWanted = Atomic(true)

        init(_ host: String) { self.host = host }

        /// Nobody waits for the answer any more.
        func drop() { isWanted.store(false, ordering: .relaxed) }

        /// Asks the system; blocks until it answers.
        ///
        /// - Returns: addresses in the order in which to try them, none where there are none, or
        ///   nil when nobody has asked.
        func ask() -> [String]? {
            guard isWanted.load(ordering: .relaxed) else { return nil }
            return addresses(of: host)
        }
    }

    private struct Found {
        let addresses: [String]
        let until: Instant
    }

    private struct Pending {
        let question: Question
        var transfers: Set<UInt64>
    }

    /// As long as libcurl keeps what it finds (CURLOPT_DNS_CACHE_TIMEOUT(3)).
    private static let keptFor: Duration = .seconds(60)
    /// Names that are remembered; beyond, all are asked for anew.
    private static let foundMax = 10_000

    private var found: [String: Found] = [:]
    private var pending: [String: Pending] = [:]

    /// What is known of a name.
    func known(_ host: String, at now: Instant) -> [String]? {
        found[host].flatMap { $0.until > now ? $0.addresses : nil }
    }

    /// Has a transfer wait for a name.
    ///
    /// - Returns: the question to be asked, unless it is being asked already.
    mutating func wait(_ transfer: UInt64, for host: String) -> Question? {
        guard pending[host] == nil else {
            pending[host]?.transfers.insert(transfer)
            return nil
        }
        let question = Question(host)
        pending[host] = Pending(question: question, transfers: [transfer])
        return question
    }

    /// A transfer waits no more.
    mutating func leave(_ transfer: UInt64, _ host: String) {
        guard pending[host]?.transfers.remove(transfer) != nil,
            let entry = pending[host], entry.transfers.isEmpty
        else { return }
        entry.question.drop()
        pending[host] = nil
    }

    /// A question was answered.
    ///
    /// - Returns: the transfers that have waited for that.
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

/// What getaddrinfo(3) says of a name, in its order (RFC 6724).
private func addresses(of host: String) -> [String] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = hasIPv6 ? AF_UNSPEC : AF_INET
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
    defer { unsafe freeaddrinfo(first) }
    var texts: [String] = []
    var next = unsafe first
    while let entry = unsafe next {
        // One with a zone, which is no address of an origin, libcurl would not read.
        if let text = unsafe numericHost(entry.pointee), !text.contains("%") {
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

/// Whether the system has IPv6 at all, as libcurl finds out (`Curl_ipv6works`).
private let hasIPv6: Bool = {
    let descriptor = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
}()

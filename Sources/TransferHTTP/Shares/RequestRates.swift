import HTTPTypes
import Synchronization
import TransferModel

/// The requests that those with a limit, tenants or keys, may still send to this instance.
final class RequestRates<Sender: Hashable & Sendable>: Sendable {
    /// The number of senders from which on idle ones are forgotten.
    private static var sendersMax: Int { 1024 }

    private let rates = Mutex<[Sender: RequestRate]>([:])

    /// Takes a request of a sender that may send `limit` in a second.
    func take(_ sender: Sender, limit: Int) -> RequestRate.State {
        let now = ContinuousClock.now
        return rates.withLock { rates in
            if rates.count >= Self.sendersMax, rates[sender] == nil {
                rates = rates.filter { !$1.isIdle(at: now) }
            }
            return rates[sender, default: RequestRate(limit: limit, at: now)]
                .take(limit: limit, at: now)
        }
    }
}

extension HTTPFields {
    /// Adds the fields that tell a client the limits of its tenant and of its key, and what is left
    /// of them (draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4).
    mutating func add(_ tenant: RequestRate.State?, key: RequestRate.State?) {
        let rates = [(SharedLimit.requests, tenant), (SharedLimit.keyRequests, key)]
            .compactMap { limit, rate in rate.map { (limit.rawValue, $0) } }
        guard !rates.isEmpty else { return }
        self[.rateLimitPolicy] = rates.map { #""\#($0)";q=\#($1.limit);w=1"# }
            .joined(separator: ", ")
        self[.rateLimit] = rates.map { #""\#($0)";r=\#($1.remaining);t=1"# }
            .joined(separator: ", ")
    }
}

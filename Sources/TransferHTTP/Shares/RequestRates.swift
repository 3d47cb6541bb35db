import HTTPTypes
import Synchronization
import TransferModel

/// The requests that tenants with a limit may still send to this instance.
final class RequestRates: Sendable {
    /// The number of tenants from which on idle ones are forgotten.
    private static let tenantsMax = 1024

    private let rates = Mutex<[TenantID: RequestRate]>([:])

    /// Takes a request of a tenant that may send `limit` in a second.
    func take(_ tenant: TenantID, limit: Int) -> RequestRate.State {
        let now = ContinuousClock.now
        return rates.withLock { rates in
            if rates.count >= Self.tenantsMax, rates[tenant] == nil {
                rates = rates.filter { !$1.isIdle(at: now) }
            }
            return rates[tenant, default: RequestRate(limit: limit, at: now)]
                .take(limit: limit, at: now)
        }
    }
}

extension HTTPFields {
    /// Adds the fields that tell a tenant its limit and what is left of it
    /// (draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4).
    mutating func add(_ rate: RequestRate.State) {
        self[.rateLimitPolicy] = #""requests";q=\#(rate.limit);w=1"#
        self[.rateLimit] = #""requests";r=\#(rate.remaining);t=1"#
    }
}

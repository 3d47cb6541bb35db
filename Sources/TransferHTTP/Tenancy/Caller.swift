import Foundation
import TransferModel

/// The holder of a good key: the sender of a request, and what it may do.
struct Caller: Sendable {
    let tenant: TenantID
    /// The public identifier of the key.
    let key: String
    /// The parts of the API that the key may use.
    let scopes: Set<KeyScope>
    /// The time at which the key expires; nil for never.
    let expiresAt: ContinuousClock.Instant?
    /// The same time as a date, as it was stored.
    var expiryDate: Date?
    /// The requests that its tenant may send to this instance in a second; nil for any number.
    var requestsPerSecondMax: Int?
    /// The requests that may be sent with the key to this instance in a second; nil for any number.
    var keyRequestsPerSecondMax: Int?
    /// Whether the tenant was made for tests, and may use their hooks.
    var isForTests = false

    /// Throws ``Problem`` unless the key has a scope that the request needs beside its route's.
    func require(_ scope: KeyScope) throws(Problem) {
        guard scopes.contains(scope) else { throw Problem(needing: scope, insteadOf: scopes) }
    }
}

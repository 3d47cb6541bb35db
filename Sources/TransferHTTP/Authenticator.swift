import HTTPTypes
import Synchronization
import TransferModel
import TransferWire
import TransferStore

/// Finds the tenant behind a request's `Authorization`.
final class Authenticator: Sendable {
    /// How long a revoked key may still be taken for a good one.
    static let cacheLifetime: Duration = .seconds(5)
    /// Keys remembered at once.
    static let cacheMax = 1024

    /// Reads what is stored of a key.
    typealias LookUp = @Sendable (String) async throws -> StoredAPIKey?

    private struct Entry {
        let key: StoredAPIKey
        let expiresAt: ContinuousClock.Instant
    }

    private let lookUp: LookUp
    private let now: @Sendable () -> ContinuousClock.Instant
    private let cache = Mutex<[String: Entry]>([:])

    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now },
        lookUp: @escaping LookUp
    ) {
        self.now = now
        self.lookUp = lookUp
    }

    /// The tenant of the key in `fields`.
    ///
    /// - Throws: ``Problem`` with one and the same answer for every key that is not good.
    func tenant(of fields: HTTPFields) async throws -> TenantID {
        guard let header = fields[.authorization], let token = Self.bearerToken(header) else {
            throw Problem(
                .unauthorized,
                "Send the API key as `Authorization: Bearer tdk_…`."
            )
        }
        guard let key = APIKey(token), let stored = try await stored(key.id), !stored.isRevoked,
            Self.isEqual(stored.secretSHA256, key.secretSHA256)
        else { throw Problem(.unauthorized, "The API key is not valid.") }
        return stored.tenant
    }

    private func stored(_ id: String) async throws -> StoredAPIKey? {
        let instant = now()
        if let entry = cache.withLock({ $0[id] }), entry.expiresAt > instant { return entry.key }
        // Keys that do not exist are not remembered: a new one works at once, and guesses cannot
        // push good ones out.
        guard let key = try await lookUp(id) else { return nil }
        cache.withLock { cache in
            if cache.count >= Self.cacheMax { cache = cache.filter { $1.expiresAt > instant } }
            if cache.count >= Self.cacheMax { cache.removeAll(keepingCapacity: true) }
            cache[id] = Entry(key: key, expiresAt: instant + Self.cacheLifetime)
        }
        return key
    }

    /// The token of the `Bearer` scheme, whose name is not case-sensitive (RFC 9110 §11.1).
    private static func bearerToken(_ header: String) -> String? {
        let parts = header.utf8.split(separator: UInt8(ascii: " "))
        guard parts.count == 2, String(Substring(parts[0])).lowercased() == "bearer" else {
            return nil
        }
        return String(Substring(parts[1]))
    }

    /// Compares without telling by its duration where the first difference is.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }
}

import HTTPTypes
import Synchronization
import TransferModel
import TransferWire
import TransferStore

/// Finds the tenant behind a request's `Authorization`.
final class Authenticator: Sendable {
    /// How long a revoked key may still be taken for a good one, and a new one for an unknown one.
    static let cacheLifetime: Duration = .seconds(5)
    /// Keys remembered at once, of good ones and of unknown ones each.
    static let cacheMax = 1024

    /// Reads what is stored of a key.
    typealias LookUp = @Sendable (String) async throws -> StoredAPIKey?

    private struct Entry {
        let key: StoredAPIKey
        let expiresAt: ContinuousClock.Instant
    }

    private let lookUp: LookUp
    private let now: @Sendable () -> ContinuousClock.Instant
    private let throttle = WrongKeyThrottle()
    private let cache = Mutex<[String: Entry]>([:])
    /// Identifiers that no key has, and until when that is believed; apart from the good ones, so that
    /// guesses cannot push those out.
    private let unknown = Mutex<[String: ContinuousClock.Instant]>([:])
    /// Look-ups under way: a client that begins with many requests at once has its key looked up once.
    private let lookUps = Mutex<[String: Task<StoredAPIKey?, any Error>]>([:])

    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now },
        lookUp: @escaping LookUp
    ) {
        self.now = now
        self.lookUp = lookUp
    }

    /// The tenant of the key in `fields`, which came from `address`.
    ///
    /// - Throws: ``Problem`` with one and the same answer for every key that is not good, and with
    ///   another one for those that are not looked at because too many before were not.
    func tenant(
        of fields: HTTPFields,
        from address: @autoclosure () -> PeerAddress? = nil
    ) async throws -> TenantID {
        guard let header = fields[.authorization], let token = Self.bearerToken(header) else {
            throw Problem(
                .unauthorized,
                "Send the API key as `Authorization: Bearer tdk_…`."
            )
        }
        guard let key = APIKey(token), let stored = try await stored(key, from: address()),
            !stored.isRevoked, Self.isEqual(stored.secretSHA256, key.secretSHA256)
        else { throw Problem(.unauthorized, "The API key is not valid.") }
        return stored.tenant
    }

    private func stored(
        _ key: APIKey,
        from address: @autoclosure () -> PeerAddress?
    ) async throws -> StoredAPIKey? {
        let instant = now()
        let known = cache.withLock { $0[key.id] }
        if let known, known.expiresAt > instant { return known.key }
        // One that was good a while ago is asked for again at once, whoever floods from its address.
        let address = address()
        let isTrusted = known.map { Self.isEqual($0.key.secretSHA256, key.secretSHA256) } ?? false
        if !isTrusted {
            if unknown.withLock({ $0[key.id] }).map({ $0 > instant }) ?? false { return nil }
        }
        let (underWay, isOwn) = try shared(key.id) {
            isTrusted || throttle.takeLookUp(for: address, at: instant)
        }
        guard isOwn else { return try await underWay.value }
        defer { lookUps.withLock { $0[key.id] = nil } }
        guard let stored = try await underWay.value else {
            remember(unknown: key.id, at: instant)
            return nil
        }
        if !isTrusted, !stored.isRevoked, Self.isEqual(stored.secretSHA256, key.secretSHA256) {
            throttle.giveBack(for: address)
        }
        remember(stored, as: key.id, at: instant)
        return stored
    }

    /// The look-up of an identifier that is under way, or one that begins now, if it `mayBegin`; and
    /// whether it is the caller's, who forgets it when it has ended.
    private func shared(
        _ id: String,
        mayBegin: () -> Bool
    ) throws(Problem) -> (lookUp: Task<StoredAPIKey?, any Error>, isOwn: Bool) {
        let begun: (Task<StoredAPIKey?, any Error>, Bool)? = lookUps.withLock { lookUps in
            if let underWay = lookUps[id] { return (underWay, false) }
            guard mayBegin() else { return nil }
            // Of nobody in particular: that one of those who wait gives up ends it for none.
            let begun = Task { [lookUp] in try await lookUp(id) }
            lookUps[id] = begun
            return (begun, true)
        }
        guard let begun else { throw Problem(exhausted: .wrongKeys) }
        return begun
    }

    private func remember(_ key: StoredAPIKey, as id: String, at instant: ContinuousClock.Instant) {
        cache.withLock { cache in
            if cache.count >= Self.cacheMax { cache = cache.filter { $1.expiresAt > instant } }
            if cache.count >= Self.cacheMax { cache.removeAll(keepingCapacity: true) }
            cache[id] = Entry(key: key, expiresAt: instant + Self.cacheLifetime)
        }
    }

    private func remember(unknown id: String, at instant: ContinuousClock.Instant) {
        unknown.withLock { unknown in
            if unknown.count >= Self.cacheMax { unknown = unknown.filter { $1 > instant } }
            if unknown.count >= Self.cacheMax { unknown.removeAll(keepingCapacity: true) }
            unknown[id] = instant + Self.cacheLifetime
        }
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

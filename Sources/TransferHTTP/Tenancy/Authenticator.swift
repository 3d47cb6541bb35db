import HTTPTypes
import Synchronization
import TransferModel
import TransferWire
import TransferStore

/// An authenticator that finds the tenant of a request's `Authorization`.
final class Authenticator: Sendable {
    /// The time for which a revoked key may still be accepted, and a new key still be unknown.
    static let cacheLifetime: Duration = .seconds(5)
    /// The maximum number of keys remembered, of good ones and of unknown ones each.
    static let cacheMax = 1024

    /// A function that reads the stored key with an identifier.
    typealias LookUp = @Sendable (String) async throws -> StoredAPIKey?

    private struct Entry {
        let key: StoredAPIKey
        let expiresAt: ContinuousClock.Instant
    }

    private let lookUp: LookUp
    private let now: @Sendable () -> ContinuousClock.Instant
    private let throttle = WrongKeyThrottle()
    private let cache = Mutex<[String: Entry]>([:])
    /// Identifiers that no key has, with the time until which that is believed; apart from the good
    /// ones, so that guesses cannot push those out.
    private let unknown = Mutex<[String: ContinuousClock.Instant]>([:])
    /// The look-ups under way: when a client starts with many requests at once, its key is looked
    /// up once.
    private let lookUps = Mutex<[String: Task<StoredAPIKey?, any Error>]>([:])

    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now },
        lookUp: @escaping LookUp
    ) {
        self.now = now
        self.lookUp = lookUp
    }

    /// Returns the tenant of the key in `fields`, which came from `address`.
    ///
    /// - Throws: ``Problem``: the same answer for every key that is not good, and another for keys
    ///   that are not looked up because too many earlier keys were wrong.
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
        // A key that was good recently is looked up at once, even during a flood from its address.
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

    /// Returns the look-up of an identifier that is under way, or a new one if it `mayBegin`; and
    /// whether it belongs to the caller, which forgets it when it has ended.
    private func shared(
        _ id: String,
        mayBegin: () -> Bool
    ) throws(Problem) -> (lookUp: Task<StoredAPIKey?, any Error>, isOwn: Bool) {
        let begun: (Task<StoredAPIKey?, any Error>, Bool)? = lookUps.withLock { lookUps in
            if let underWay = lookUps[id] { return (underWay, false) }
            guard mayBegin() else { return nil }
            // The look-up belongs to no waiting request, so one that gives up does not end it for
            // the others.
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

    /// Returns the token of the `Bearer` scheme, whose name is not case-sensitive (RFC 9110 §11.1).
    private static func bearerToken(_ header: String) -> String? {
        let parts = header.utf8.split(separator: UInt8(ascii: " "))
        guard parts.count == 2, String(Substring(parts[0])).lowercased() == "bearer" else {
            return nil
        }
        return String(Substring(parts[1]))
    }

    /// Compares bytes in a time that does not reveal where the first difference is.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }
}

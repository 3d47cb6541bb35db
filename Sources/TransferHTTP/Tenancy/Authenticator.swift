import HTTPTypes
import Synchronization
import TransferModel
import TransferStore
import TransferWire

/// An authenticator that finds the caller by a request's `Authorization`.
///
/// An unknown identifier and a wrong secret take the same way, so that nobody learns which
/// identifiers exist: only a key whose identifier and secret have both been good is remembered as
/// good, each other pair is looked up, compared and remembered as refused.
final class Authenticator: Sendable {
    /// The time for which a revoked key may still be accepted, and a new key still be unknown.
    ///
    /// Below the five seconds that are promised, because the look-up takes its time too.
    static let cacheLifetime: Duration = .seconds(3)
    /// The maximum number of keys remembered, of good ones and of refused ones each.
    static let cacheMax = 1024

    /// A function that reads the stored key with an identifier.
    typealias LookUp = @Sendable (String) async throws -> StoredAPIKey?
    /// A function that records that the key with an identifier is in use.
    typealias RecordUse = @Sendable (String) async throws -> Void

    private struct Entry {
        let secretSHA256: [UInt8]
        let caller: Caller
        let until: ContinuousClock.Instant
    }

    private let lookUp: LookUp
    private let recordUse: RecordUse
    private let now: @Sendable () -> ContinuousClock.Instant
    private let throttle = WrongKeyThrottle()
    /// The good keys by their identifiers.
    private let cache = Mutex<[String: Entry]>([:])
    /// The keys that are not good, with the time until which that is believed; apart from the good
    /// ones, so that guesses cannot push those out.
    private let refused = Mutex<[PresentedKey: ContinuousClock.Instant]>([:])
    /// The look-ups under way: when a client starts with many requests at once, its key is looked
    /// up once.
    private let lookUps = Mutex<[PresentedKey: Task<Caller?, any Error>]>([:])

    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now },
        lookUp: @escaping LookUp,
        recordUse: @escaping RecordUse = { _ in }
    ) {
        self.now = now
        self.lookUp = lookUp
        self.recordUse = recordUse
    }

    /// Returns the holder of the key in `fields`, which came from `address`.
    ///
    /// - Throws: ``Problem``: the same answer for every key that is not good, and another for keys
    ///   that are not looked up because too many earlier keys were wrong.
    func caller(
        of fields: HTTPFields,
        from address: @autoclosure () -> PeerAddress? = nil
    ) async throws -> Caller {
        guard let header = fields.value(of: .authorization), let token = Self.bearerToken(header)
        else {
            throw Problem(
                .unauthorized,
                "Send the API key as `Authorization: Bearer tdk_…`."
            )
        }
        guard let key = APIKey(token).map(PresentedKey.init),
            let caller = try await caller(of: key, from: address())
        else { throw Problem.invalidKey }
        return caller
    }

    /// Returns the identifier of the key in `fields`, which may be any; nil without one.
    static func identifier(of fields: HTTPFields) -> String? {
        fields.value(of: .authorization).flatMap(bearerToken).flatMap { APIKey($0)?.id }
    }

    /// Forgets a key that this instance has revoked.
    func forget(_ id: String) {
        cache.withLock { $0[id] = nil }
    }

    private func caller(
        of key: PresentedKey,
        from address: @autoclosure () -> PeerAddress?
    ) async throws -> Caller? {
        let instant = now()
        let entry = cache.withLock { $0[key.id] }
        let known = key.isProof(of: entry?.secretSHA256) ? entry : nil
        if let known, known.until > instant { return known.caller }
        if known == nil, refused.withLock({ $0[key] }).map({ $0 > instant }) ?? false {
            return nil
        }
        // A key that was good recently is looked up at once, even during a flood from its address.
        let address = address()
        let (underWay, isOwn) = try shared(key, at: instant) {
            known != nil || throttle.takeLookUp(for: address, at: instant)
        }
        guard isOwn else { return try await underWay.value }
        defer { lookUps.withLock { $0[key] = nil } }
        let found: Caller?
        do {
            found = try await underWay.value
        } catch {
            // It has found no wrong key.
            if known == nil { throttle.giveBack(for: address) }
            throw error
        }
        guard let caller = found else {
            if known != nil { forget(key.id) }
            remember(refused: key, at: instant)
            return nil
        }
        if known == nil { throttle.giveBack(for: address) }
        remember(caller, as: key, at: instant)
        return caller
    }

    /// Returns the look-up of a key that is under way, or a new one if it `mayBegin`; and whether
    /// it belongs to the caller, which forgets it when it has ended.
    private func shared(
        _ key: PresentedKey,
        at instant: ContinuousClock.Instant,
        mayBegin: () -> Bool
    ) throws(Problem) -> (lookUp: Task<Caller?, any Error>, isOwn: Bool) {
        let begun: (Task<Caller?, any Error>, Bool)? = lookUps.withLock { lookUps in
            if let underWay = lookUps[key] { return (underWay, false) }
            guard mayBegin() else { return nil }
            // The look-up belongs to no waiting request, so one that gives up does not end it for
            // the others.
            let begun = Task { try await lookedUp(key, at: instant) }
            lookUps[key] = begun
            return (begun, true)
        }
        guard let begun else { throw Problem(exhausted: .wrongKeys) }
        return begun
    }

    /// Returns the holder of a key that the database knows as good.
    private func lookedUp(
        _ key: PresentedKey,
        at instant: ContinuousClock.Instant
    ) async throws -> Caller? {
        let stored = try await lookUp(key.id)
        guard key.isProof(of: stored?.secretSHA256), let stored, !stored.isRevoked else {
            return nil
        }
        let expiresAt = stored.expiresIn.map { instant + $0 }
        if let expiresAt, expiresAt <= instant { return nil }
        if stored.isUseDue { try await recordUse(key.id) }
        return Caller(
            tenant: stored.tenant,
            key: key.id,
            scopes: stored.scopes,
            expiresAt: expiresAt,
            requestsPerSecondMax: stored.requestsPerSecondMax,
            keyRequestsPerSecondMax: stored.ownRequestsPerSecondMax,
            isForTests: stored.isForTests
        )
    }

    private func remember(
        _ caller: Caller,
        as key: PresentedKey,
        at instant: ContinuousClock.Instant
    ) {
        let until = instant + Self.cacheLifetime
        cache.withLock { cache in
            if cache.count >= Self.cacheMax { cache = cache.filter { $1.until > instant } }
            if cache.count >= Self.cacheMax { cache.removeAll(keepingCapacity: true) }
            cache[key.id] = Entry(
                secretSHA256: key.secretSHA256,
                caller: caller,
                until: caller.expiresAt.map { min($0, until) } ?? until
            )
        }
    }

    private func remember(refused key: PresentedKey, at instant: ContinuousClock.Instant) {
        refused.withLock { refused in
            if refused.count >= Self.cacheMax { refused = refused.filter { $1 > instant } }
            if refused.count >= Self.cacheMax { refused.removeAll(keepingCapacity: true) }
            refused[key] = instant + Self.cacheLifetime
        }
    }

    /// Returns the token of the `Bearer` scheme, whose name is not case-sensitive (RFC 9110 §11.1).
    private static func bearerToken(_ header: String) -> String? {
        let parts = header.utf8.split(separator: UInt8(ascii: " "))
        // The bit is what upper and lower case differ by.
        guard parts.count == 2, parts[0].lazy.map({ $0 | 0x20 }).elementsEqual("bearer".utf8)
        else { return nil }
        return String(Substring(parts[1]))
    }
}

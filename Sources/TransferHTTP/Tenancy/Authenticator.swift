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
    /// The maximum number of good keys remembered, each with some 400 bytes.
    static let cacheMax = 16_384
    /// The maximum number of keys that are remembered from before the start, which leaves room for
    /// others.
    static let recalledMax = cacheMax / 4 * 3
    /// The maximum number of refused keys remembered.
    static let refusedMax = 1024
    /// The time after which a request waits for no further look-up of other keys.
    static let waitMax: Duration = .seconds(5)

    /// A function that reads the stored key with an identifier.
    typealias LookUp = @Sendable (String) async throws -> StoredAPIKey?
    /// A function that records that the key with an identifier is in use.
    typealias RecordUse = @Sendable (String) async throws -> Void

    private struct LookUpUnderWay {
        let task: Task<Caller?, any Error>
        let address: PeerAddress?
        /// Whether the key was good recently, so that the look-up was lent no tokens.
        let isOfKnownKey: Bool
    }

    /// What is remembered of a key.
    private enum Memory {
        case good(Caller)
        /// It was good, and has to be looked up again.
        case outdated
        case refused
        case nothing
    }

    private let lookUp: LookUp
    private let recordUse: RecordUse
    private let now: @Sendable () -> ContinuousClock.Instant
    private let throttle = WrongKeyThrottle()
    /// The good keys.
    private let cache: Mutex<KnownKeys>
    /// The keys that are not good, with the time until which that is believed; apart from the good
    /// ones, so that guesses cannot push those out.
    private let refused = Mutex<[PresentedKey: ContinuousClock.Instant]>([:])
    /// The look-ups under way: when a client starts with many requests at once, its key is looked
    /// up once.
    private let lookUps = Mutex<[PresentedKey: LookUpUnderWay]>([:])

    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now },
        cacheMax: Int = Authenticator.cacheMax,
        lookUp: @escaping LookUp,
        recordUse: @escaping RecordUse = { _ in }
    ) {
        self.now = now
        cache = Mutex(KnownKeys(countMax: cacheMax))
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
        guard let key = APIKey(bytes: token).map(PresentedKey.init),
            let caller = try await caller(of: key, from: address())
        else { throw Problem.invalidKey }
        return caller
    }

    /// Returns the identifier of the key in `fields`, which may be any; nil without one.
    static func identifier(of fields: HTTPFields) -> String? {
        fields.value(of: .authorization).flatMap(bearerToken).flatMap { APIKey(bytes: $0)?.id }
    }

    /// Forgets a key that this instance has revoked.
    func forget(_ id: String) {
        cache.withLock { $0.forget(id) }
    }

    /// Remembers keys that were used before this instance began, the last used first.
    ///
    /// Each is looked up before it is accepted, but at once, as one that was good here: after a
    /// restart, too, a flood of wrong keys does not keep it out.
    func recall(_ keys: [RecentAPIKey]) {
        let instant = now()
        cache.withLock { cache in
            for (place, key) in keys.enumerated() where cache[key.id] == nil {
                let entry = KnownKeys.Entry(
                    secretSHA256: key.secretSHA256,
                    tenant: key.tenant,
                    caller: nil,
                    until: instant - .microseconds(place)
                )
                cache.remember(entry, as: key.id)
            }
        }
    }

    private func caller(
        of key: PresentedKey,
        from address: @autoclosure () -> PeerAddress?
    ) async throws -> Caller? {
        let start = now()
        var instant = start
        while true {
            let isKnown: Bool
            switch memory(of: key, at: instant) {
            case .good(let caller): return caller
            case .refused: return nil
            // It is looked up at once, even during a flood from its address.
            case .outdated: isKnown = true
            case .nothing: isKnown = false
            }
            let (underWay, isOfKey) = try sharedLookUp(
                of: key,
                isKnown: isKnown,
                from: address(),
                at: instant
            )
            if isOfKey { return try await underWay.value }
            guard instant - start < Self.waitMax else {
                throw Problem(.unavailable, "Too many keys are being looked up.")
            }
            _ = await underWay.result
            instant = now()
        }
    }

    private func memory(of key: PresentedKey, at instant: ContinuousClock.Instant) -> Memory {
        let entry = cache.withLock { $0[key.id] }
        if key.isProof(of: entry?.secretSHA256), let entry {
            guard let caller = entry.caller, entry.until > instant else { return .outdated }
            return .good(caller)
        }
        let refusedUntil = refused.withLock { $0[key] }
        return refusedUntil.map { $0 > instant } ?? false ? .refused : .nothing
    }

    /// Returns the look-up of a key that is under way, or a new one; or, if only other look-ups
    /// keep it from beginning, one of those.
    ///
    /// - Throws: ``Problem`` if too many keys were wrong.
    private func sharedLookUp(
        of key: PresentedKey,
        isKnown: Bool,
        from address: PeerAddress?,
        at instant: ContinuousClock.Instant
    ) throws(Problem) -> (lookUp: Task<Caller?, any Error>, isOfKey: Bool) {
        let found: (Task<Caller?, any Error>, Bool)? = lookUps.withLock { lookUps in
            if let underWay = lookUps[key] { return (underWay.task, true) }
            if !isKnown {
                switch throttle.takeLookUp(for: address, at: instant) {
                case .taken: break
                case .lent:
                    let lent = lookUps.values.filter { !$0.isOfKnownKey }
                    let other = lent.first { $0.address == address } ?? lent.first
                    return other.map { ($0.task, false) }
                case .usedUp: return nil
                }
            }
            // The look-up belongs to no waiting request, so one that gives up does not end it for
            // the others.
            let task = Task {
                try await answer(for: key, isKnown: isKnown, from: address, at: instant)
            }
            lookUps[key] = LookUpUnderWay(task: task, address: address, isOfKnownKey: isKnown)
            return (task, true)
        }
        guard let found else { throw Problem(exhausted: .wrongKeys) }
        return found
    }

    /// Looks up a key, and remembers the answer before the look-up counts as ended.
    private func answer(
        for key: PresentedKey,
        isKnown: Bool,
        from address: PeerAddress?,
        at instant: ContinuousClock.Instant
    ) async throws -> Caller? {
        let found: Caller?
        do {
            found = try await lookedUp(key, at: instant)
        } catch {
            // It has found no wrong key.
            end(key, isKnown: isKnown, from: address, isWrong: false)
            throw error
        }
        if let found {
            remember(found, as: key, at: instant)
        } else {
            if isKnown { forget(key.id) }
            remember(refused: key, at: instant)
        }
        end(key, isKnown: isKnown, from: address, isWrong: found == nil)
        return found
    }

    /// Forgets the look-up of a key, and ends its loan in the same step: whoever finds a token
    /// lent finds the look-up that has it.
    private func end(
        _ key: PresentedKey,
        isKnown: Bool,
        from address: PeerAddress?,
        isWrong: Bool
    ) {
        lookUps.withLock { lookUps in
            if !isKnown { throttle.endLookUp(for: address, isWrong: isWrong) }
            lookUps[key] = nil
        }
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
            expiryDate: stored.expiresAt,
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
        let entry = KnownKeys.Entry(
            secretSHA256: key.secretSHA256,
            tenant: caller.tenant,
            caller: caller,
            until: caller.expiresAt.map { min($0, until) } ?? until
        )
        cache.withLock { $0.remember(entry, as: key.id) }
    }

    private func remember(refused key: PresentedKey, at instant: ContinuousClock.Instant) {
        refused.withLock { refused in
            if refused.count >= Self.refusedMax { refused = refused.filter { $1 > instant } }
            if refused.count >= Self.refusedMax { refused.removeAll(keepingCapacity: true) }
            refused[key] = instant + Self.cacheLifetime
        }
    }

    /// Returns the token of the `Bearer` scheme, whose name is not case-sensitive (RFC 9110 §11.1).
    private static func bearerToken(_ header: String) -> [UInt8]? {
        // An array is split in a fraction of the time of a text.
        let parts = Array(header.utf8).split(separator: UInt8(ascii: " "))
        // The bit is what upper and lower case differ by.
        guard parts.count == 2, parts[0].lazy.map({ $0 | 0x20 }).elementsEqual("bearer".utf8)
        else { return nil }
        return Array(parts[1])
    }
}

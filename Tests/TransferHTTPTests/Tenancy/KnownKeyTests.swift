import HTTPTypes
import NIOCore
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The keys that an instance knows, whatever floods of others come.
@Suite(.timeLimit(.minutes(2))) struct KnownKeyTests {
    /// A number of remembered keys that a test soon exceeds.
    private static let countMax = 64

    private static func peer() throws -> PeerAddress? {
        PeerAddress(try SocketAddress(ipAddress: "192.0.2.1", port: 1))
    }

    /// Returns the code of the problem that a request with a key gets; nil if the key is accepted.
    private static func code(
        of key: APIKey,
        _ authenticator: Authenticator
    ) async throws -> ProblemDetails.Code? {
        let fields: HTTPFields = [.authorization: "Bearer \(key.serialized)"]
        let address = try peer()
        do {
            _ = try await authenticator.caller(of: fields, from: address)
            return nil
        } catch let problem as Problem {
            return problem.code
        }
    }

    /// Sends wrong keys until no more of them are looked up.
    private static func flood(_ authenticator: Authenticator) async throws {
        for _ in 0..<WrongKeyThrottle.burst { _ = try await code(of: .generate(), authenticator) }
        #expect(try await code(of: .generate(), authenticator) == .tooManyRequests)
    }

    /// Two tenants have as many keys as they like, and use them all.
    @Test func theKeysOfATenantPushOutNoneOfAnother() async throws {
        let clock = Mutex(ContinuousClock.now)
        let quiet = APIKey.generate()
        let loud = (0..<2 * Self.countMax).map { _ in APIKey.generate() }
        var tenants = [quiet.id: TenantID(.version7())]
        let others = [TenantID(.version7()), TenantID(.version7())]
        for (index, key) in loud.enumerated() { tenants[key.id] = others[index % 2] }
        let digests = Dictionary(
            uniqueKeysWithValues: (loud + [quiet]).map { ($0.id, $0.secretSHA256) }
        )
        let authenticator = Authenticator(
            now: { clock.withLock { $0 } },
            cacheMax: Self.countMax
        ) { [tenants] id in
            guard let tenant = tenants[id], let digest = digests[id] else { return nil }
            return StoredAPIKey(tenant: tenant, secretSHA256: digest)
        }
        #expect(try await Self.code(of: quiet, authenticator) == nil)
        clock.withLock { $0 += Authenticator.cacheLifetime + .seconds(1) }
        for key in loud {
            clock.withLock { $0 += .milliseconds(1) }
            #expect(try await Self.code(of: key, authenticator) == nil)
        }
        try await Self.flood(authenticator)
        #expect(try await Self.code(of: quiet, authenticator) == nil)
        // As many as are remembered, and no more: the first one is not known any more.
        let first = try #require(loud.first)
        #expect(try await Self.code(of: first, authenticator) == .tooManyRequests)
    }

    @Test func whoHasTheMostKeysLosesThoseLookedUpLongestAgo() {
        let start = ContinuousClock.now
        let (small, large) = (TenantID(.version7()), TenantID(.version7()))
        var keys = KnownKeys(countMax: 16)
        func remember(_ id: String, of tenant: TenantID, at second: Int) {
            let entry = KnownKeys.Entry(
                secretSHA256: [],
                tenant: tenant,
                caller: nil,
                until: start + .seconds(second)
            )
            keys.remember(entry, as: id)
        }
        for index in 0..<4 { remember("small \(index)", of: small, at: index) }
        for index in 0..<12 { remember("large \(index)", of: large, at: 10 + index) }
        remember("small 0", of: small, at: 30)
        remember("small 4", of: small, at: 31)
        let rest = (0..<12).filter { keys["large \($0)"] != nil }
        #expect(rest == Array(4..<12))
        let others = (0..<5).filter { keys["small \($0)"] != nil }
        #expect(others == Array(0..<5))
    }

    /// After a restart behind a gateway that all clients share, wrong keys come first.
    @Test(.postgresSchema) func aKeyUsedBeforeTheStartIsAcceptedDuringAFlood() async throws {
        try await APIServer.run { server in
            let used = try await server.holder()
            let new = try await server.holder()
            #expect(try await server.send("GET", "/v1/tenant", as: used).status == 200)
            let now = ContinuousClock.now
            let keys = server.stores.keys
            let authenticator = Authenticator(now: { now }) { try await keys.apiKey(id: $0) }
            authenticator.recall(try await keys.recentAPIKeys(limit: Authenticator.recalledMax))
            try await Self.flood(authenticator)
            #expect(try await Self.code(of: used.key, authenticator) == nil)
            #expect(try await Self.code(of: new.key, authenticator) == .tooManyRequests)
            // A secret that is not the key's is none that was made up less.
            let forged = try #require(APIKey(Self.forged(id: used.key.id)))
            #expect(try await Self.code(of: forged, authenticator) == .tooManyRequests)
        }
    }

    /// Recalled is not accepted: the database has the last word.
    @Test(.postgresSchema) func aKeyRevokedSinceItWasReadIsRefused() async throws {
        try await APIServer.run { server in
            let holder = try await server.holder()
            #expect(try await server.send("GET", "/v1/tenant", as: holder).status == 200)
            let now = ContinuousClock.now
            let keys = server.stores.keys
            let authenticator = Authenticator(now: { now }) { try await keys.apiKey(id: $0) }
            authenticator.recall(try await keys.recentAPIKeys(limit: Authenticator.recalledMax))
            #expect(try await keys.revokeAPIKey(id: holder.key.id))
            #expect(try await Self.code(of: holder.key, authenticator) == .unauthorized)
        }
    }

    /// Returns a key of valid form with that identifier and a secret of its own.
    private static func forged(id: String) -> String {
        let text = "tdk_\(id)_\(String(repeating: "0", count: 64))"
        let crc = String(CRC32.checksum(text.utf8), radix: 16)
        return "\(text)_\(String(repeating: "0", count: 8 - crc.utf8.count))\(crc)"
    }
}

import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferSecrets
import TransferStore
import TransferTestSupport

/// What is secret in a row reaches the database sealed, and opens only where it belongs.
@Suite(.postgresSchema) struct SealingTests {
    private static let secret = "canary-5f1c"
    private static let header = HTTPHeader(name: "X-Secret", value: secret)
    private static let url = "https://origin.test/a?token=\(secret)#part"

    private static func stores(_ keys: [String]) throws -> Stores {
        var settings = StoreSettings()
        settings.secrets = SecretBox(keys: keys.compactMap { SecretsKey(hex: $0) })
        return Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
    }

    /// Submits an upload whose URL, headers and body hold the secret.
    private static func submit(_ fixture: StoreFixture, _ stores: Stores) async throws -> TaskID {
        var submission = StoreFixture.submissions(1)[0]
        submission.url = url
        submission.headers = [header]
        submission.options.mirrors = ["https://mirror.test/a", url]
        submission.request = TransferRequest(
            kind: .upload,
            upload: .data(Array(secret.utf8))
        )
        let result = try await stores.submissions.submit(
            [submission],
            tenant: fixture.tenant,
            client: .default,
            sessionIdentifier: StoreFixture.identifier
        )
        guard case .accepted = result else {
            Issue.record("not accepted: \(result)")
            return submission.id
        }
        return submission.id
    }

    /// Returns all rows of the tables that hold secrets, as text.
    private static func rows(_ connection: Connection) async throws -> String {
        let rows = try await connection.execute(
            """
            SELECT x::text AS text FROM task x UNION ALL SELECT x::text FROM session x
            UNION ALL SELECT x::text FROM subscription x
            UNION ALL SELECT x::text FROM signing_secret x
            UNION ALL SELECT x::text FROM credential x
            """
        )
        return try rows.map { try $0.decode("text", as: String.self) }.joined(separator: " ")
    }

    private static func shows(_ text: String, _ bytes: [UInt8]) -> Bool {
        text.contains(String(decoding: bytes, as: UTF8.self)) || text.contains(bytes.hexadecimal)
    }

    @Test func secretsComeBackAndCannotBeSeenInTheRows() async throws {
        let fixture = try await StoreFixture()
        let stores = try Self.stores([SecretsKey.random()])
        let tenant = fixture.tenant
        _ = try await stores.sessions.putSession(
            tenant: tenant,
            identifier: StoreFixture.identifier,
            configuration: SessionConfiguration(
                additionalHeaders: [HTTPHeader(name: "X-Shared", value: Self.secret)]
            )
        )
        let task = try await Self.submit(fixture, stores)
        let signing = SigningSecret(bytes: Array("canary-5f1c of twenty-four bytes".utf8))
        let subscription = Subscription(
            id: SubscriptionID(.version7()),
            tenant: tenant,
            sessionIdentifier: nil,
            settings: SubscriptionSettings(url: Self.url, headers: [Self.header]),
            createdAt: Date()
        )
        _ = try await stores.subscriptions.createSubscription(subscription, secret: signing)
        let form = Credential.Form.oauth2RefreshToken(
            Credential.TokenEndpoint(
                url: Self.url,
                clientID: "me",
                sendsSecretInBody: false,
                scope: nil
            )
        )
        _ = try await stores.credentials.putCredential(
            tenant: tenant,
            name: "login",
            form: form,
            origins: [],
            secrets: Credential.Secrets(main: Secret(Self.secret))
        )

        let rows = try await Self.rows(fixture.aside)
        #expect(rows.contains("https://origin.test/a"))
        #expect(!Self.shows(rows, Array(Self.secret.utf8)))
        #expect(!Self.shows(rows, signing.bytes))

        let read = try #require(try await stores.tasks.task(tenant: tenant, id: task))
        #expect(read.url == Self.url)
        #expect(read.options.mirrors == ["https://mirror.test/a", Self.url])
        let record = try await stores.tasks.request(of: task)
        #expect(record?.options == read.options)
        #expect(record?.headerNames == ["X-Secret"])
        #expect(record?.sessionHeaderNames == ["X-Shared"])
        #expect(record?.upload == .data(count: Int64(Self.secret.utf8.count)))
        let claim = try #require(try await stores.queue.claimAny(1, by: fixture.worker).first)
        #expect(claim.url == Self.url)
        #expect(claim.options.mirrors == read.options.mirrors)
        #expect(claim.headers.map(\.value) == [Self.secret, Self.secret])
        #expect(claim.request.upload == .data(Array(Self.secret.utf8)))
        #expect(!claim.hasUnreadableSecrets)
        let endpoint = try await stores.deliveryLog.endpoint(
            tenant: tenant,
            subscription: subscription.id
        )
        #expect(endpoint?.url == Self.url)
        #expect(endpoint?.headers == [Self.header])
        #expect(endpoint?.secrets.map(\.bytes) == [signing.bytes])
        let credential = try await stores.credentials.credential(tenant: tenant, name: "login")
        #expect(credential?.form == form)
    }

    /// What was stored before there was a key, and what an older key has sealed.
    @Test func olderFormsAreRead() async throws {
        let fixture = try await StoreFixture()
        let (old, new) = (SecretsKey.random(), SecretsKey.random())
        let plain = try await Self.submit(fixture, fixture.stores)
        let older = try await Self.submit(fixture, try Self.stores([old]))
        let stores = try Self.stores([new, old])
        for id in [plain, older] {
            #expect(try await stores.tasks.task(tenant: fixture.tenant, id: id)?.url == Self.url)
        }
        let claims = try await stores.queue.claimAny(2, by: fixture.worker)
        for claim in claims { #expect(claim.request.upload == .data(Array(Self.secret.utf8))) }
        #expect(claims.count == 2)
    }

    /// Someone who can write to the database cannot have one task send the secrets of another.
    @Test func aValueDoesNotOpenInAnotherRowAndHoldsUpNoOther() async throws {
        let fixture = try await StoreFixture()
        let stores = try Self.stores([SecretsKey.random()])
        let robbed = try await Self.submit(fixture, stores)
        for column in ["url", "headers", "upload_data"] {
            let robber = try await Self.submit(fixture, stores)
            let whole = try await Self.submit(fixture, stores)
            _ = try await fixture.aside.execute(
                """
                UPDATE task t SET url = CASE \(column) WHEN 'url' THEN r.url ELSE t.url END,
                    headers = CASE \(column) WHEN 'headers' THEN r.headers ELSE t.headers END,
                    upload_data = CASE \(column)
                        WHEN 'upload_data' THEN r.upload_data ELSE t.upload_data END
                FROM task r WHERE r.id = \(robbed.uuid) AND t.id = \(robber.uuid)
                """
            )
            let claims = try await stores.queue.claimAny(10, by: fixture.worker)
            for claim in claims where claim.task == robber {
                #expect(claim.hasUnreadableSecrets, "\(column)")
                #expect(claim.headers.isEmpty && claim.url.isEmpty, "\(column)")
            }
            #expect(claims.contains { $0.task == robber }, "\(column)")
            #expect(claims.contains { $0.task == whole && !$0.hasUnreadableSecrets }, "\(column)")
        }
    }

    @Test func bytesThatLookSealedComeBackToo() async throws {
        let fixture = try await StoreFixture()
        let bytes = Array("\u{0}sealed\u{0}\u{0}x".utf8)
        var submission = StoreFixture.submissions(1)[0]
        submission.request = TransferRequest(kind: .upload, upload: .data(bytes))
        _ = try await fixture.stores.submissions.submit(
            [submission],
            tenant: fixture.tenant,
            client: .default,
            sessionIdentifier: StoreFixture.identifier
        )
        #expect(try await fixture.claim(1).first?.request.upload == .data(bytes))
        let record = try await fixture.stores.tasks.request(of: submission.id)
        #expect(record?.upload == .data(count: Int64(bytes.count)))
    }

    @Test func anInstanceLearnsWhichKeysItLacks() async throws {
        let fixture = try await StoreFixture()
        let store = SecretsKeyStore(fixture.stores.database)
        let (first, second): ([UInt8], [UInt8]) = ([1, 2, 3, 4], [5, 6, 7, 8])
        #expect(try await store.use(nil, among: []) == [])
        #expect(try await store.use(first, among: [first]) == [])
        #expect(try await store.use(nil, among: []) == [first])
        #expect(try await store.use(second, among: [second]) == [first])
        #expect(try await store.use(second, among: [second, first]) == [])
        #expect(try await store.use(first, among: [first]) == [second])
    }

    /// After it, the new key alone opens everything; a second run finds nothing to do.
    @Test func rewrappingMakesOlderKeysNeedless() async throws {
        let fixture = try await StoreFixture()
        let (old, new) = (SecretsKey.random(), SecretsKey.random())
        let tenant = fixture.tenant
        let plain = try await Self.submit(fixture, fixture.stores)
        let before = try Self.stores([old])
        let sealed = try await Self.submit(fixture, before)
        _ = try await before.sessions.putSession(
            tenant: tenant,
            identifier: StoreFixture.identifier,
            configuration: SessionConfiguration(additionalHeaders: [Self.header])
        )
        let subscription = Subscription(
            id: SubscriptionID(.version7()),
            tenant: tenant,
            sessionIdentifier: nil,
            settings: SubscriptionSettings(url: Self.url, headers: [Self.header]),
            createdAt: Date()
        )
        let signing = SigningSecret(bytes: Array("canary-5f1c of twenty-four bytes".utf8))
        let answer = IdempotencyRecord.Response(
            status: 201,
            location: nil,
            body: Array(Self.secret.utf8)
        )
        _ = try await before.subscriptions.createSubscription(
            subscription,
            secret: signing,
            idempotency: IdempotencyRecord(
                key: [1],
                requestSHA256: [UInt8](repeating: 2, count: 32),
                response: answer
            )
        )
        let secrets = Credential.Secrets(main: Secret(Self.secret), client: nil)
        _ = try await before.credentials.putCredential(
            tenant: tenant,
            name: "login",
            form: .bearer,
            origins: [],
            secrets: secrets
        )
        let running = try #require(try await before.queue.claimAny(1, by: fixture.worker).first)
        let resource = UploadResource(
            fence: running.fence,
            dialect: .ietf,
            url: Self.url,
            isAtOrigin: true,
            body: "data"
        )
        #expect(try await before.uploadResources.keep(resource, of: running))
        #expect(try await !fixture.end([running], .released).isEmpty)

        let both = RewrapStore(try Self.stores([new, old]).database)
        var counts: [RewrapStore.Part: Int] = [:]
        for part in RewrapStore.Part.allCases {
            var cursor: RewrapStore.Cursor?
            repeat {
                let page = try await both.rewrap(part, after: cursor, limit: 1)
                counts[part, default: 0] += page.renewed
                #expect(page.unreadable == 0)
                cursor = page.next
            } while cursor != nil
        }
        #expect(
            counts == [
                .credentials: 1, .sessions: 1, .subscriptions: 1, .signingSecrets: 1, .answers: 1,
                .tasks: 2, .uploads: 1,
            ]
        )
        for part in RewrapStore.Part.allCases {
            #expect(try await both.rewrap(part, after: nil, limit: 100).renewed == 0)
        }

        let after = try Self.stores([new])
        for id in [plain, sealed] {
            #expect(try await after.tasks.task(tenant: tenant, id: id)?.url == Self.url)
        }
        let claims = try await after.queue.claimAny(2, by: fixture.worker)
        #expect(claims.count == 2)
        for claim in claims {
            #expect(claim.options.mirrors == ["https://mirror.test/a", Self.url])
            #expect(claim.headers == [Self.header])
            #expect(claim.request.upload == .data(Array(Self.secret.utf8)))
        }
        let continued = try await after.uploadResources.resources(of: claims)
        #expect(continued.compactMap(\.uploadResource) == [resource])
        let endpoint = try await after.deliveryLog.endpoint(
            tenant: tenant,
            subscription: subscription.id
        )
        #expect(endpoint?.secrets.map(\.bytes) == [signing.bytes])
        let kept = try await after.idempotency.lookUp(
            idempotencyKey: [1],
            requestSHA256: [UInt8](repeating: 2, count: 32),
            tenant: tenant
        )
        guard case .replay(let replayed) = kept else {
            Issue.record("not kept: \(kept)")
            return
        }
        #expect(replayed.body == answer.body)
        let login = try #require(
            try await after.credentials.credential(tenant: tenant, name: "login")
        )
        #expect(try await after.credentials.storedCredential(login.id)?.secrets == secrets)
    }
}

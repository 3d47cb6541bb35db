import Foundation
import Postgres
import Testing
import TransferModel
import TransferSecrets
import TransferStore
import TransferTestSupport

/// The places that origins have named for the rest of uploads.
@Suite(.postgresSchema) struct UploadResourceStoreTests {
    private static let url = "https://origin.test/uploads/canary-5f1c?key=canary-5f1c"

    private static func resource(_ claim: TaskClaim, url: String = url) -> UploadResource {
        UploadResource(
            fence: claim.fence,
            dialect: .contentRange,
            url: url,
            isAtOrigin: false,
            body: "7 1.2 3.4"
        )
    }

    private func kept(_ claim: TaskClaim, _ stores: Stores) async throws -> UploadResource? {
        try await stores.uploadResources.resources(of: [claim]).first?.uploadResource
    }

    @Test func belongsToTheTaskAndNotToItsAttempt() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2)
        let claims = try await fixture.claim(2)
        let claim = claims[0]
        #expect(try await kept(claim, fixture.stores) == nil)
        let resource = Self.resource(claim)
        #expect(try await fixture.stores.uploadResources.keep(resource, of: claim))
        #expect(try await kept(claim, fixture.stores) == resource)
        #expect(try await kept(claims[1], fixture.stores) == nil)
        #expect(try await !fixture.end([claim], .released).isEmpty)
        let next = try #require(try await fixture.claim(1).first)
        #expect(next.task == claim.task)
        #expect(try await kept(next, fixture.stores) == resource)

        // Whoever has lost the task changes nothing any more.
        let stale = Self.resource(claim, url: "https://origin.test/stale")
        #expect(try await !fixture.stores.uploadResources.keep(stale, of: claim))
        #expect(try await kept(next, fixture.stores) == resource)
        let newer = Self.resource(next, url: "https://origin.test/newer")
        #expect(try await fixture.stores.uploadResources.keep(newer, of: next))
        try await fixture.stores.uploadResources.forget(resource, of: claim.task)
        #expect(try await kept(next, fixture.stores) == newer)
        try await fixture.stores.uploadResources.forget(newer, of: claim.task)
        #expect(try await kept(next, fixture.stores) == nil)
    }

    /// A client's retry continues there, and nothing stays behind the task.
    @Test func goesWithItsTask() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit(1)[0]
        let claim = try #require(try await fixture.claim(1).first)
        let resource = Self.resource(claim)
        #expect(try await fixture.stores.uploadResources.keep(resource, of: claim))
        #expect(try await !fixture.end([claim], .failed(StoreFixture.failure)).isEmpty)
        _ = try await fixture.stores.retries.retryTask(
            tenant: fixture.tenant,
            id: id,
            hasBody: false
        )
        let again = try #require(try await fixture.claim(1).first)
        #expect(try await kept(again, fixture.stores) == resource)
        #expect(try await !fixture.end([again], .failed(StoreFixture.failure)).isEmpty)
        try await fixture.stores.retention.expire([id])
        #expect(try await fixture.count("SELECT count(*) FROM upload_resource") == 0)
    }

    @Test func isSealedAsAWhole() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2)
        let claims = try await fixture.claim(2)
        let keys = [SecretsKey.random(), SecretsKey.random()]
        func stores(_ key: Int) throws -> Stores {
            var settings = StoreSettings()
            settings.secrets = SecretBox(keys: SecretsKey(hex: keys[key]).map { [$0] } ?? [])
            return Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        }
        let sealing = try stores(0)
        let resource = Self.resource(claims[0])
        #expect(try await sealing.uploadResources.keep(resource, of: claims[0]))
        #expect(try await kept(claims[0], sealing) == resource)
        #expect(
            try await fixture.count(
                """
                SELECT count(*) FROM upload_resource
                WHERE position('canary'::bytea IN url) > 0 OR body LIKE '%canary%'
                """
            ) == 0
        )
        // With another key, its task is one that cannot be read, and the others go on.
        let found = try await stores(1).uploadResources.resources(of: claims)
        #expect(found.map(\.hasUnreadableSecrets) == [true, false])
        #expect(found.allSatisfy { $0.uploadResource == nil })
    }

    @Test func aTakeoverTellsOfIt() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2)
        let claims = try await fixture.claim(2)
        #expect(
            try await fixture.stores.uploadResources.keep(Self.resource(claims[0]), of: claims[0])
        )
        try await fixture.silence(fixture.worker)
        let rescuer = try await fixture.otherWorker()
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: .seconds(30),
            identity: rescuer
        )
        #expect(takeover.attempts.count == 2)
        #expect(takeover.resumableUploads == [claims[0].task])
    }
}

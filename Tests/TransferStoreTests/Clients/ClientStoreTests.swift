import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct ClientStoreTests {
    private static let share = ClientID(stored: "com.example.share")

    private func fixture() async throws -> StoreFixture {
        let fixture = try await StoreFixture()
        _ = try await fixture.stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.share,
            kind: .app
        )
        return fixture
    }

    @Test func everyTenantHasTheDefault() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let client = try await stores.clients.client(tenant: fixture.tenant, id: .default)
        #expect(client?.kind == .app)
        #expect(client?.lifecycle == .active)
        let again = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "second",
                secretSHA256: Array(repeating: 1, count: 32),
                name: "second"
            ),
            tenantName: "test"
        )
        #expect(again == fixture.tenant)
        let clients: Query = "SELECT count(*) AS count FROM client"
        #expect(try await fixture.count(clients) == 1)
    }

    @Test func aClientIsMadeOnceAndKeepsItsKind() async throws {
        let fixture = try await fixture()
        let (client, isCreated) = try await fixture.stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.share,
            kind: .extension
        )
        #expect(!isCreated)
        #expect(client.kind == .app)
        let page = try await fixture.stores.clients.clients(
            tenant: fixture.tenant,
            after: Self.share,
            limit: 10
        )
        #expect(page.map(\.id) == [.default])
    }

    @Test func clientsShareNoIdentifiers() async throws {
        let fixture = try await fixture()
        let mine = try await fixture.session()
        let theirs = try await fixture.putSession(of: Self.share)
        #expect(theirs.id != mine.id)
        #expect(theirs.client == Self.share)
        let id = try await fixture.submit(1, of: Self.share)[0]
        #expect(try await fixture.task(id).client == Self.share)
        #expect(try await fixture.session().progress.outstanding == 0)
        #expect(try await fixture.session(of: Self.share).progress.outstanding == 1)
        #expect(try await fixture.events(of: Self.share).map(\.client) == [Self.share])
        let stores = fixture.stores
        #expect(
            try await stores.sessions.invalidateSession(
                tenant: fixture.tenant,
                client: Self.share,
                identifier: StoreFixture.identifier
            )
        )
        #expect(try await fixture.session().id == mine.id)
        try await fixture.checkInvariants()
    }

    @Test func sessionsAreListedByClientAndIdentifier() async throws {
        let fixture = try await fixture()
        for name in ["b", "a"] { try await fixture.putSession(name, of: Self.share) }
        try await fixture.putSession("a")
        var found: [String] = []
        var place: SessionPlace?
        repeat {
            let page = try await fixture.stores.sessions.sessions(
                tenant: fixture.tenant,
                after: place,
                limit: 2
            )
            found += page.map { "\($0.client) \($0.identifier)" }
            #expect(page.hasMore == (page.lastPlace?.identifier == "b"))
            place = page.hasMore ? page.lastPlace : nil
        } while place != nil
        #expect(
            found == ["\(Self.share) a", "\(Self.share) b", "default a", "default nightly"]
        )
        let own = try await fixture.stores.sessions.sessions(
            tenant: fixture.tenant,
            client: Self.share,
            after: SessionPlace(client: Self.share, identifier: "a"),
            limit: 10
        )
        #expect(own.map(\.identifier) == ["b"])
    }

    @Test func aSessionNeedsItsClient() async throws {
        let fixture = try await fixture()
        let result = try await fixture.stores.sessions.putSession(
            tenant: fixture.tenant,
            client: ClientID(stored: "absent"),
            identifier: "a",
            configuration: SessionConfiguration()
        )
        guard case .unknownClient = result else {
            Issue.record("made: \(result)")
            return
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM session") == 1)
    }

    @Test func aSubscriptionIsForATenantAClientOrASession() async throws {
        let fixture = try await fixture()
        try await fixture.putSession(of: Self.share)
        try await fixture.putSession("other", of: Self.share)
        let all = try await fixture.subscribe()
        let client = try await fixture.subscribe(client: Self.share)
        let session = try await fixture.subscribe(
            client: Self.share,
            session: StoreFixture.identifier
        )
        let own = try await fixture.subscribe(session: StoreFixture.identifier)
        func told() async throws -> Set<SubscriptionID> {
            let claims = try await fixture.claimDeliveries()
            for claim in claims {
                let events = try await fixture.stores.events.events(
                    of: claim.session,
                    after: 0,
                    limit: 1000
                )
                _ = try await fixture.stores.deliveries.recordDelivered(
                    claim,
                    through: try #require(events.last).sequence,
                    status: 204,
                    lease: .zero
                )
                _ = try await fixture.stores.deliveries.releaseDelivery(claim)
            }
            return Set(claims.map(\.subscription))
        }
        try await fixture.submit()
        #expect(try await told() == [all, own])
        try await fixture.submit(1, of: Self.share)
        #expect(try await told() == [all, client, session])
        try await fixture.submit(1, to: "other", of: Self.share)
        #expect(try await told() == [all, client])
    }

    @Test func endedAssertionsAndRunsAreKeptForTimeThatHasPassed() async throws {
        let fixture = try await fixture()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO assertion (id, client_id, name, ended_at)
            SELECT gen_random_uuid(), id, 'sync', now() - interval '2 hours' FROM client
            WHERE identifier = \(Self.share.name)
            """
        )
        _ = try await fixture.aside.execute(
            """
            INSERT INTO background_task_run (id, client_id, tenant_id, request_id, identifier, kind,
                launched_at, launch_sequence, deadline_at, has_expiration_handler,
                cancels_transfers, completes_with_transfers, ended_at, reason)
            SELECT gen_random_uuid(), id, tenant_id, gen_random_uuid(), 'clean', 'processing',
                now() - interval '3 hours', 1, now() - interval '2 hours', false, false, false,
                now() - interval '2 hours', 'completed_by_client'
            FROM client WHERE identifier = \(Self.share.name)
            """
        )
        let assertions = fixture.stores.assertions
        let runs = fixture.stores.runs
        let hour: Duration = .seconds(3600)
        // The two hours have passed by the database's clock alone.
        let early = Date() - 2 * 3600
        #expect(try await assertions.pruneAssertions(endedBefore: hour, notAfter: early) == 0)
        #expect(try await runs.pruneRuns(endedBefore: hour, notAfter: early) == 0)
        #expect(try await assertions.pruneAssertions(endedBefore: hour, notAfter: Date()) == 1)
        #expect(try await runs.pruneRuns(endedBefore: hour, notAfter: Date()) == 1)
    }

    @Test(arguments: [Client.Lifecycle.terminated, .forceQuit])
    func aClientThatIsGoneGivesItsLeasesBack(lifecycle: Client.Lifecycle) async throws {
        let fixture = try await fixture()
        try await fixture.putSession(of: Self.share)
        try await fixture.submit(1, of: Self.share)
        let taken = try await fixture.stores.sessions.reconnect(
            fixture.session(of: Self.share).id,
            by: Self.share,
            owner: nil,
            time: .seconds(3600),
            after: nil,
            limit: 10
        )
        #expect(taken.items.count == 1)
        let (clients, tenant) = (fixture.stores.clients, fixture.tenant)
        let client =
            try await lifecycle == .forceQuit
            ? clients.forceQuit(tenant: tenant, id: Self.share)
            : clients.terminate(tenant: tenant, id: Self.share)
        #expect(client?.lifecycle == lifecycle)
        #expect(try await fixture.count("SELECT count(*) AS count FROM task_owner") == 0)
    }

    @Test func aLeaseThatAnotherClientTakesOverOutlivesTheFirst() async throws {
        let fixture = try await fixture()
        let id = try await fixture.submit()[0]
        _ = try await fixture.aside.execute(
            """
            INSERT INTO task_owner (task_id, tenant_id, lease_token, expires_at, client_id)
            SELECT \(id.uuid), c.tenant_id, gen_random_uuid(), now(), c.id FROM client c
            WHERE c.tenant_id = \(fixture.tenant.uuid) AND c.identifier = \(Self.share.name)
            """
        )
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute(
            """
            UPDATE task_owner SET expires_at = now() + interval '60 s', client_id = (
                SELECT c.id FROM client c
                WHERE c.tenant_id = \(fixture.tenant.uuid) AND c.identifier <> \(Self.share.name))
            """
        )
        async let quit = fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: Self.share)
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        await other.close()
        #expect(try await quit?.lifecycle == .forceQuit)
        #expect(try await fixture.count("SELECT count(*) AS count FROM task_owner") == 1)
    }
}

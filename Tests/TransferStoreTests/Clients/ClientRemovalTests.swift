import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The removal of one client with everything that it owns.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct ClientRemovalTests {
    private static let share = ClientID(stored: "share")
    private static let backup = BackgroundTaskIdentifier(stored: "backup")

    /// Gives a client tasks in many states, a subscription, and what else it may own.
    ///
    /// - Returns: the identifiers of all that, by the columns that have them.
    private func fill(
        _ client: ClientID,
        _ fixture: StoreFixture
    ) async throws -> [String: [UUID]] {
        let stores = fixture.stores
        let tenant = fixture.tenant
        _ = try await stores.clients.putClient(tenant: tenant, id: client, kind: .app)
        let subscription = try await fixture.subscribe(client: client)
        try await fixture.putSession(of: client)
        try await fixture.putSession("ended", of: client)
        try await fixture.submit(3, to: "ended", of: client)
        _ = try await stores.sessions.invalidateSession(
            tenant: tenant,
            client: client,
            identifier: "ended"
        )
        let tasks = try await fixture.submit(4, of: client)
        let claims = try await fixture.claim(4).filter { tasks.contains($0.task) }
        try await fixture.complete([claims[0], claims[1]])
        try await stores.retention.expire([claims[0].task])
        _ = try await fixture.aside.execute(
            "UPDATE tenant SET permitted_background_tasks = '{backup,other}'"
        )
        _ = try await stores.handlers.registerHandler(
            Self.backup,
            kind: .processing,
            hasExpirationHandler: true,
            of: client,
            tenant: tenant
        )
        _ = try await stores.assertions.beginAssertion(
            AssertionID(UUID()),
            named: "upload",
            by: client,
            of: tenant
        )
        let session = try await fixture.session(of: client)
        let credential = UUID()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO credential (id, tenant_id, kind, form, origins, secret)
            VALUES (\(credential), \(tenant.uuid), 'bearer', '{}', '{}', 'x')
            """
        )
        _ = try await fixture.aside.execute(
            """
            INSERT INTO session_credential (session_id, origin, credential_id)
            VALUES (\(session.id.uuid), 'https://origin.test', \(credential))
            """
        )
        while try await stores.cancellations.continueCancellations() {}
        while try await stores.counts.foldMoves() > 0 {}
        let log = try #require(try await stores.clients.client(tenant: tenant, id: client)).log
        let sessions = try await select(
            "SELECT id FROM session WHERE client = \(client.name)",
            fixture
        )
        return [
            "client_id": [log.uuid], "session_id": [log.uuid] + sessions,
            "task_id": try await select(
                "SELECT id FROM task WHERE session_id = ANY (\(sessions))",
                fixture
            ),
            "subscription_id": [subscription.uuid], "credential_id": [credential],
        ]
    }

    private func select(_ query: Query, _ fixture: StoreFixture) async throws -> [UUID] {
        try await fixture.aside.execute(query).map { try $0.decode("id") }
    }

    private func begin(_ fixture: StoreFixture) async throws {
        for _ in 0..<2 {
            let client = try #require(
                try await fixture.stores.clients.beginClientRemoval(
                    tenant: fixture.tenant,
                    id: Self.share
                )
            )
            #expect(client.removedAt != nil && client.lifecycle == .forceQuit)
        }
    }

    @Test func nothingOfItIsLeftAndNothingOfOthersIsTouched() async throws {
        let fixture = try await StoreFixture()
        // It is told of the clients' own logs, too, and stays.
        try await fixture.subscribe()
        let other = ClientID(stored: "other")
        let theirs = try await fill(other, fixture)
        let mine = try await fill(Self.share, fixture)
        let before = try await fixture.rows(of: theirs)
        #expect(try await fixture.rows(of: mine).count > 15)
        try await begin(fixture)
        try await fixture.removeOwners()
        // Rows of the feed outlive their events, and go with their time.
        let left = try await fixture.rows(of: mine)
        #expect(left.keys.allSatisfy { $0 == "event_feed.session_id" }, "\(left)")
        #expect(try await fixture.rows(of: theirs) == before)
        #expect(try await select("SELECT id FROM session WHERE client = 'share'", fixture).isEmpty)
        let secrets = try await select("SELECT id FROM credential", fixture)
        #expect(secrets == theirs["credential_id"])
        #expect(
            try await fixture.stores.clients.client(tenant: fixture.tenant, id: Self.share) == nil
        )
        try await fixture.checkInvariants()
    }

    @Test func itsNameComesAgainWithNothingOfTheOldOne() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let old = try await fill(Self.share, fixture)
        try await begin(fixture)
        try await fixture.removeOwners()
        let (client, isCreated) = try await stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.share,
            kind: .extension
        )
        #expect(isCreated && client.lifecycle == .active && client.removedAt == nil)
        #expect(old["client_id"] != [client.log.uuid])
        #expect(
            try await stores.sessions.sessionOrEnded(
                tenant: fixture.tenant,
                client: Self.share,
                identifier: "ended"
            ) == nil
        )
        #expect(
            try await stores.handlers.handlers(of: Self.share, tenant: fixture.tenant).isEmpty
        )
    }

    /// The tenant's subscriptions are told once, from the tenant's log.
    @Test func theTenantIsToldWhenNothingIsLeft() async throws {
        let fixture = try await StoreFixture()
        let subscription = try await fixture.subscribe()
        _ = try await fill(Self.share, fixture)
        try await begin(fixture)
        let log = SessionID(fixture.tenant.uuid)
        let query: Query = """
            SELECT count(*) AS count FROM delivery
            WHERE subscription_id = \(subscription.uuid) AND session_id = \(log.uuid)
                AND due_at IS NOT NULL
            """
        #expect(try await fixture.count(query) == 0)
        try await fixture.removeOwners()
        #expect(try await fixture.count(query) == 1)
        let page = try await fixture.stores.events.feed(
            of: fixture.tenant,
            after: 0,
            limit: 1000
        )
        let told = page.events.map(\.event).filter { $0.session == log }
        #expect(told.map(\.kind) == [.clientRemoved])
        guard case .clientRemoved(let client) = try #require(told.first).payload else {
            Issue.record("another payload")
            return
        }
        #expect(client == SessionEvent.RemovedClient(id: Self.share, kind: .app))
        try await fixture.checkInvariants()
    }

    /// From the decision on nothing is added to it, and no launch brings it back.
    @Test func nothingFindsItByItsName() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let tenant = fixture.tenant
        _ = try await fill(Self.share, fixture)
        try await begin(fixture)
        let made = try await stores.sessions.putSession(
            tenant: tenant,
            client: Self.share,
            identifier: "new",
            configuration: nil
        )
        guard case .unknownClient = made else {
            Issue.record("\(made)")
            return
        }
        let launched = try await stores.clients.launch(tenant: tenant, id: Self.share)
        #expect(launched?.lifecycle == .forceQuit && launched?.removedAt != nil)
        let terminated = try await stores.clients.terminate(tenant: tenant, id: Self.share)
        #expect(terminated?.removedAt != nil)
        let registered = try await stores.handlers.registerHandler(
            BackgroundTaskIdentifier(stored: "other"),
            kind: .processing,
            hasExpirationHandler: false,
            of: Self.share,
            tenant: tenant
        )
        guard case .unknownClient = registered else {
            Issue.record("\(registered)")
            return
        }
    }

    /// What runs is taken away from its worker first, whose files are gone before the tasks are.
    @Test func runningTasksAreCancelledFirst() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        _ = try await stores.clients.putClient(tenant: fixture.tenant, id: Self.share, kind: .app)
        try await fixture.putSession(of: Self.share)
        try await fixture.submit(2, of: Self.share)
        let claims = try await fixture.claim()
        try await begin(fixture)
        for _ in 0..<10 { #expect(try await !stores.removalTurn()) }
        let controls = try await stores.workers.controls(incarnation: fixture.worker.incarnation)
        #expect(Set(controls.revocations) == Set(claims.map(\.fence)))
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 2)
        try await stores.workers.removeRevocations(claims.map(\.fence))
        try await fixture.removeOwners()
    }

    @Test func aLeaseThatAnotherClientTakesOverMeanwhileStays() async throws {
        let fixture = try await StoreFixture()
        let (clients, tenant) = (fixture.stores.clients, fixture.tenant)
        let mine = try await clients.putClient(tenant: tenant, id: Self.share, kind: .app)
        let name = ClientID(stored: "other")
        let theirs = try await clients.putClient(tenant: tenant, id: name, kind: .app)
        let id = try await fixture.submit()[0]
        try await begin(fixture)
        while try await fixture.stores.counts.foldMoves() > 0 {}
        let log = mine.client.log
        _ = try await fixture.aside.execute(
            """
            INSERT INTO task_owner (task_id, tenant_id, lease_token, expires_at, client_id)
            VALUES (\(id.uuid), \(tenant.uuid), gen_random_uuid(), now(), \(log.uuid))
            """
        )
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute(
            "UPDATE task_owner SET client_id = \(theirs.client.log.uuid)"
        )
        let owner = RemovedOwner.client(Self.share, log: log, of: tenant)
        async let removal = fixture.stores.ownerRemovals.advanceRemoval(of: owner)
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        await other.close()
        _ = try await removal
        #expect(try await fixture.count("SELECT count(*) AS count FROM task_owner") == 1)
    }

    /// A client goes with its tenant, which is nobody who could be told.
    @Test func aTenantThatIsRemovedTooIsNotDelayed() async throws {
        let fixture = try await StoreFixture()
        _ = try await fill(Self.share, fixture)
        try await begin(fixture)
        #expect(try await fixture.stores.ownerRemovals.beginTenantRemoval(named: "test"))
        #expect(
            try await fixture.stores.ownerRemovals.ownersBeingRemoved()
                == [.tenant(fixture.tenant)]
        )
        try await fixture.removeOwners()
        let left = try await fixture.rows(of: [
            "tenant_id": [fixture.tenant.uuid], "session_id": [fixture.tenant.uuid],
        ])
        #expect(left == [:])
    }

    /// However many of the tenant's subscriptions were told of it; what deleted ones were told goes
    /// with these.
    @Test func whatTheTenantWasToldOfItGoesInPages() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let tenant = fixture.tenant
        _ = try await stores.clients.putClient(tenant: tenant, id: Self.share, kind: .app)
        try await begin(fixture)
        while try await stores.counts.foldMoves() > 0 {}
        let client = try #require(try await stores.clients.client(tenant: tenant, id: Self.share))
        let log = client.log.uuid
        _ = try await fixture.aside.execute([
            """
            INSERT INTO subscription (id, tenant_id, url, deleted_at)
            SELECT gen_random_uuid(), \(tenant.uuid), 'https://hook.test/',
                CASE WHEN n <= 2 THEN now() END
            FROM generate_series(1, 1502) AS n
            """,
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence)
            SELECT b.id, \(log), 1 FROM subscription b
            """,
        ])
        let told: Query = """
            SELECT count(*) AS count FROM delivery WHERE session_id = \(log)
            """
        let owner = RemovedOwner.client(Self.share, log: client.log, of: tenant)
        for left: Int64 in [502, 2, 2] {
            _ = try await stores.ownerRemovals.advanceRemoval(of: owner)
            #expect(try await fixture.count(told) == left)
        }
        try await fixture.removeOwners()
        #expect(try await fixture.count(told) == 2)
    }
}

import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The periodic queries of workers, which read next to nothing.
///
/// This holds however much is stored, and whatever the statistics say that PostgreSQL plans by.
@Suite(.postgresSchema) struct IdleCostTests {
    private static let tasks = 3000
    /// The tables that then have rows; those of other tests do not concern this one.
    private static let filled = """
        task, ready_run, attempt, rename_run, outcome, attempt_log, event, task_move, session,
        session_progress, delivery, delivery_log, background_task_run, host
        """
    /// The maximum number of rows of tables and entries of indexes; the 64 shards alone are read
    /// several times.
    private static let readMax: Int64 = 600

    /// The subscription whose replays are put off.
    private static let subscription = SubscriptionID(UUID())
    /// Deliveries and replays that are not due yet, runs that ended a moment ago, and hosts that
    /// have failed.
    private static let notYet: [Query] = [
        """
        INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
        SELECT gen_random_uuid(), gen_random_uuid(), 0, now() + interval '1 h'
        FROM generate_series(1, \(Int64(tasks)))
        """,
        """
        INSERT INTO delivery_log
            (id, subscription_id, session_id, sequence, state, died_at, replay_due_at)
        SELECT gen_random_uuid(), \(subscription.uuid), gen_random_uuid(), 1, 'dead', now(),
            now() + interval '1 h'
        FROM generate_series(1, \(Int64(tasks)))
        """,
        """
        INSERT INTO background_task_run
            (id, client_id, tenant_id, request_id, identifier, kind, launched_at, launch_sequence,
            deadline_at, has_expiration_handler, cancels_transfers, completes_with_transfers,
            ended_at, reason)
        SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),
            'refresh', 'app_refresh', now(), 1, now(), false, false, false, now(),
            'completed_by_client'
        FROM generate_series(1, \(Int64(tasks)))
        """,
        """
        INSERT INTO host (host_key, name, connections)
        SELECT n, 'h' || n || '.test:443', 3 FROM generate_series(1, \(Int64(tasks))) AS n
        """,
    ]

    private struct Question {
        let name: String
        let ask: (Stores) async throws -> Void

        init(_ name: String, _ ask: @escaping (Stores) async throws -> Void) {
            self.name = name
            self.ask = ask
        }
    }

    private static func questions(of worker: WorkerIdentity) -> [Question] {
        let incarnation = worker.incarnation
        return [
            Question("takeOver") {
                _ = try await $0.workers.takeOver(silentFor: .seconds(3600), identity: worker)
            },
            Question("leaseShards") {
                _ = try await $0.workers.leaseShards(
                    incarnation: incarnation,
                    knowing: Set(Shard.all)
                )
            },
            // All hosts are in another shard.
            Question("leaseShards of a new one") {
                _ = try await $0.workers.leaseShards(
                    incarnation: incarnation,
                    knowing: Set(Shard.all.dropFirst())
                )
            },
            Question("foreignAttempts") {
                _ = try await $0.workers.foreignAttempts(inShardsOf: incarnation)
            },
            Question("abandonedParts") { _ = try await $0.parts.abandonedParts() },
            Question("continueCancellations") {
                try await $0.cancellations.continueCancellations()
            },
            Question("failUnanswered") { _ = try await $0.questions.failUnanswered() },
            Question("tasksToErase") { _ = try await $0.erasure.tasksToErase() },
            Question("erase") { try await $0.erasure.erase([]) },
            Question("pruneIdempotencyKeys") {
                _ = try await $0.idempotency.pruneIdempotencyKeys()
            },
            Question("ownersBeingRemoved") {
                _ = try await $0.ownerRemovals.ownersBeingRemoved()
            },
            Question("pruneHosts") { _ = try await $0.hosts.pruneHosts() },
            Question("promoteDue") { _ = try await $0.queue.promoteDue() },
            Question("controls") { _ = try await $0.workers.controls(incarnation: incarnation) },
            Question("sessionsToExpire") {
                _ = try await $0.retention.sessionsToExpire(after: nil)
            },
            Question("expireResumeData") { _ = try await $0.retention.expireResumeData() },
            Question("pruneClientStringChanges") {
                _ = try await $0.retention.pruneClientStringChanges(after: nil)
            },
            Question("pruneDeliveryLog") {
                _ = try await $0.retention.pruneDeliveryLog(olderThan: .zero, after: nil)
            },
            Question("pruneExpiredTasks") {
                _ = try await $0.retention.pruneExpiredTasks(after: nil)
            },
            Question("pruneRuns") {
                _ = try await $0.runs.pruneRuns(endedBefore: .seconds(3600))
            },
            Question("areAnyReplaysDue") { _ = try await $0.deliveryLog.areAnyReplaysDue() },
            Question("areAnyDue") { _ = try await $0.deliveries.areAnyDue() },
            Question("replayTurns") {
                _ = try await $0.deliveryLog.replayTurns(after: nil, limit: 10)
            },
            Question("claimReplays") {
                _ = try await $0.deliveryLog.claimReplays(
                    of: subscription,
                    worker.reserve(10),
                    limit: 10,
                    lease: .seconds(600)
                )
            },
            Question("claimDeliveries") {
                _ = try await $0.deliveries.claimDeliveries(
                    worker.reserve(10),
                    limit: 10,
                    lease: .seconds(600)
                )
            },
        ]
    }

    @Test(arguments: [false, true])
    func whatIsAskedAgainAndAgainReadsNextToNothing(isAnalyzed: Bool) async throws {
        let fixture = try await StoreFixture()
        // An old snapshot keeps every row that is removed from now on.
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.execute("SELECT count(*) FROM task")
        for _ in 0..<3 { try await fixture.submit(Self.tasks / 3) }
        for _ in 0..<2 {
            let claims = try await fixture.claim(Self.tasks / 4)
            #expect(try await fixture.complete(claims).count == claims.count)
        }
        while try await fixture.stores.counts.foldMoves() > 0 {}
        for insert in Self.notYet { _ = try await fixture.aside.execute(insert) }
        if isAnalyzed { try await fixture.aside.executeScript("ANALYZE \(Self.filled)") }

        let pool = TestDatabase.current.pool(connectionsMax: 1)
        _ = try await pool.execute(
            Database.serverSettings.map { "SELECT set_config(\($0.key), \($0.value), false)" }
        )
        let stores = Stores(Database(pool: pool))
        var costly: [String: Int64] = [:]
        for question in Self.questions(of: fixture.worker) {
            let read = try await Self.read(by: question, stores, pool)
            if read > Self.readMax { costly[question.name] = read }
        }
        #expect(costly.isEmpty)
        // Erased rows are looked up beside all that are not erased.
        try await fixture.putSession("hidden", kind: .ephemeral)
        let hidden = try await fixture.submit(2, to: "hidden")
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "hidden"
        )
        let erasure = [
            Question("tasksToErase") {
                let remains = try await $0.erasure.tasksToErase()
                #expect(Set(remains.map(\.task)) == Set(hidden))
            },
            Question("erase") { try await $0.erasure.erase(hidden) },
        ]
        for question in erasure {
            let read = try await Self.read(by: question, stores, pool)
            #expect(read <= Self.readMax, "\(question.name)")
        }
        // The measurement notices a large read.
        let much = Question("events") {
            _ = try await $0.events.events(
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier,
                after: 0,
                limit: Self.tasks
            )
        }
        #expect(try await Self.read(by: much, stores, pool) >= Int64(Self.tasks))
        _ = try await holder.execute("COMMIT")
    }

    /// Returns the number of rows and entries that the one connection of `pool` reads to answer.
    private static func read(
        by question: Question,
        _ stores: Stores,
        _ pool: ConnectionPool
    ) async throws -> Int64 {
        // In one transaction, because some of PostgreSQL's counts disappear when it ends.
        _ = try await pool.execute("BEGIN")
        let before = try await read(pool)
        try await question.ask(stores)
        let after = try await read(pool)
        _ = try await pool.execute("COMMIT")
        return after - before
    }

    private static func read(_ pool: ConnectionPool) async throws -> Int64 {
        let rows = try await pool.execute(
            """
            SELECT sum(pg_stat_get_xact_tuples_returned(c.oid))::bigint AS count
            FROM pg_class c WHERE c.relnamespace = quote_ident(current_schema())::regnamespace
            """
        )
        return try rows[0].decode("count")
    }
}

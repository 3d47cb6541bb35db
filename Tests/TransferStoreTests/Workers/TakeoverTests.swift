import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

@Suite(.postgresSchema) struct TakeoverTests {
    private static let lease: Duration = .seconds(600)

    @Test func leavesAWorkerAloneThatGivesSignsOfLife() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        _ = try await fixture.claim()
        let rescuer = try await fixture.otherWorker()
        #expect(try await isHeard(fixture.worker, fixture))
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        #expect(takeover.workers == 0)
        #expect(takeover.attempts.isEmpty)
    }

    /// Its worker, which lives on, has noted the part that it leaves behind.
    @Test func anAttemptWhosePartIsNotedIsTakenOver() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        let claim = try #require(try await fixture.claim().first)
        _ = try await fixture.aside.execute(
            """
            INSERT INTO abandoned_part (fence, task_id)
            VALUES (\(claim.fence.rawValue), \(claim.task.uuid))
            """
        )
        let rescuer = try await fixture.otherWorker()
        try await fixture.silence(fixture.worker)
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        #expect(takeover.attempts.map(\.task) == [claim.task])
    }

    private func isHeard(
        _ worker: WorkerIdentity,
        _ fixture: StoreFixture
    ) async throws -> Bool {
        try await fixture.stores.workers.heartbeat(
            incarnation: worker.incarnation,
            lease: Self.lease
        )
    }

    private func workersDeclaredDead(
        by rescuer: WorkerIdentity,
        _ fixture: StoreFixture
    ) async throws -> Int {
        try await fixture.stores.workers.takeOver(silentFor: Self.lease, identity: rescuer).workers
    }

    /// Shifts the times of all workers, as if the database's clock had been set the other way.
    private func shiftTimes(_ interval: String, _ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            """
            UPDATE worker SET heartbeat_at = heartbeat_at + \(interval)::text::interval,
                alive_since = alive_since + \(interval)::text::interval
            """
        )
    }

    /// The database was away for an hour, and the first worker that is back finds all others
    /// silent.
    @Test func silenceThatAWorkerSharesProvesNothing() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        let claims = try await fixture.claim()
        let first = try await fixture.otherWorker()
        for worker in [first, fixture.worker] { try await fixture.silence(worker) }
        // Also before its own heartbeat is accepted again.
        #expect(try await workersDeclaredDead(by: first, fixture) == 0)
        #expect(try await isHeard(first, fixture))
        #expect(try await workersDeclaredDead(by: first, fixture) == 0)
        #expect(try await isHeard(fixture.worker, fixture))
        // It keeps its attempts.
        #expect(try await fixture.complete(claims).count == 1)
        // A worker that stays silent is declared dead by one that has since sent heartbeats for a
        // lease.
        try await fixture.silence(fixture.worker)
        #expect(try await workersDeclaredDead(by: first, fixture) == 0)
        try await fixture.age(first)
        #expect(try await workersDeclaredDead(by: first, fixture) == 1)
    }

    /// Their limits are read before those of their sessions: a change in between must not be
    /// missed.
    @Test func theLimitsOfWhatIsTakenOverAreReadAgain() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        _ = try await fixture.claim()
        let rescuer = try await fixture.otherWorker()
        try await fixture.silence(fixture.worker)
        let taken = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        ).attempts
        let claim = try #require(taken.first)
        let controls = try await fixture.stores.workers.controls(
            incarnation: rescuer.incarnation,
            RateQuery(version: claim.limits.version)
        )
        #expect(Array(controls.limits.keys) == [claim.fence])
    }

    @Test(arguments: ["1 hour", "-1 hour"])
    func aClockThatIsSetKillsNobody(shift: String) async throws {
        let fixture = try await StoreFixture()
        let rescuer = try await fixture.otherWorker()
        let dead = try await fixture.otherWorker()
        try await fixture.age(fixture.worker)
        try await shiftTimes(shift, fixture)
        #expect(try await workersDeclaredDead(by: rescuer, fixture) == 0)
        #expect(try await isHeard(rescuer, fixture))
        #expect(try await workersDeclaredDead(by: rescuer, fixture) == 0)
        #expect(try await isHeard(fixture.worker, fixture))
        // A worker whose last heartbeat is older is dead, whichever way the clock was set.
        try await fixture.age(rescuer)
        #expect(try await workersDeclaredDead(by: rescuer, fixture) == 1)
        #expect(try await isHeard(fixture.worker, fixture))
        #expect(try await !isHeard(dead, fixture))
    }

    @Test func aWorkerThatWasDeclaredDeadTakesNothingOver() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        let claims = try await fixture.claim()
        let sleeper = try await fixture.otherWorker()
        for worker in [sleeper, fixture.worker] {
            try await fixture.stores.workers.retireWorker(incarnation: worker.incarnation)
        }
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: sleeper
        )
        #expect(takeover.attempts.isEmpty)
        let rescuer = try await fixture.otherWorker()
        let next = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        #expect(next.attempts.map(\.task) == claims.map(\.task))
    }

    /// The holder of a lock need not wait to know that its former holder is dead.
    @Test func theNextHolderOfALockSucceedsTheLastAtOnce() async throws {
        let fixture = try await StoreFixture()
        func register(_ lock: String?) async throws -> WorkerIdentity {
            WorkerIdentity(
                incarnation: try await fixture.stores.workers.registerWorker(
                    name: "locked",
                    instanceLock: lock
                )
            )
        }
        let former = try await register("boot:1")
        let neighbour = try await register("boot:2")
        let (one, other) = (try await register(nil), try await register(nil))
        try await fixture.submit()
        let claims = try await fixture.claim(by: former)
        let successor = try await register("boot:1")
        #expect(try await !isHeard(former, fixture))
        for living in [neighbour, one, other, successor] {
            #expect(try await isHeard(living, fixture))
        }
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: successor
        )
        #expect(takeover.workers == 0)
        #expect(takeover.attempts.map(\.task) == claims.map(\.task))
    }

    /// Its process was stopped in the middle of a claim, and the server waits for it without end.
    @Test func aSilentWorkerIsDeadAlsoWhileItsClaimIsOpen() async throws {
        let fixture = try await StoreFixture()
        let rescuer = try await fixture.otherWorker()
        let stopped = try await fixture.otherWorker()
        let holder = try await TestDatabase.current.connection()
        try await holder.executeScript("BEGIN")
        #expect(
            try await holder.execute(WorkerTransactions.standing(of: stopped.incarnation)).count
                == 1
        )
        // With the rights of the role that the open transaction has too.
        let workers = WorkerStore(Database(pool: TestDatabase.current.pool()))
        // It is left alone as long as it is heard.
        #expect(
            try await workers.takeOver(silentFor: Self.lease, identity: rescuer).workers == 0
        )
        #expect(try await holder.execute("SELECT 1 AS one").count == 1)
        try await fixture.silence(stopped)
        try await eventually("the stopped worker is declared dead") {
            try await workers.takeOver(silentFor: Self.lease, identity: rescuer).workers == 1
        }
        #expect(try await !isHeard(stopped, fixture))
    }

    @Test func aWorkerNeverDeclaresItselfDead() async throws {
        let fixture = try await StoreFixture()
        try await fixture.silence(fixture.worker)
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: fixture.worker
        )
        #expect(takeover.workers == 0)
        #expect(try await isHeard(fixture.worker, fixture))
    }

    @Test func takesTheAttemptsAndRenamesOfASilentWorker() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(5)
        let claims = try await fixture.claim()
        try await fixture.beginRenames(Array(claims.suffix(2)))
        // Cancelled, and its worker dies before it removes the part file.
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: claims[0].task)
        try await fixture.silence(fixture.worker)
        let rescuer = try await fixture.otherWorker()
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        #expect(takeover.workers == 1)
        #expect(Set(takeover.attempts.map(\.task)) == Set(claims[1...2].map(\.task)))
        #expect(Set(takeover.pendingRenames.map(\.task)) == Set(claims[3...4].map(\.task)))
        // The part files keep the names that the dead worker gave them.
        let abandoned = try await fixture.stores.parts.abandonedParts()
        #expect(Set(abandoned.map(\.fence)) == Set(claims[0...2].map(\.fence)))
        try await fixture.stores.parts.forgetAbandonedParts(abandoned.map(\.fence))
        #expect(try await fixture.stores.parts.abandonedParts().isEmpty)
        #expect(Set(takeover.pendingRenames.map(\.partFence)) == Set(claims[3...4].map(\.fence)))
        #expect(takeover.pendingRenames.allSatisfy { $0.result == StoreFixture.result })
        let fences = takeover.attempts.map(\.fence) + takeover.pendingRenames.map(\.fence)
        #expect(Set(fences).count == 4)
        #expect(Set(fences).isDisjoint(with: claims.map(\.fence)))
        // The dead worker was only asleep: anything that it does now is too late.
        #expect(try await !isHeard(fixture.worker, fixture))
        #expect(try await fixture.beginRenames(claims).isEmpty)
        #expect(try await fixture.end(claims, .completed).isEmpty)
        #expect(try await fixture.end(claims, .released).isEmpty)
        #expect(try await fixture.claim().isEmpty)
        #expect(try await fixture.end(takeover.attempts, .requeued).count == 2)
        let completions = takeover.pendingRenames.map {
            AttemptEnd(task: $0.task, fence: $0.fence, outcome: .completed)
        }
        #expect(try await fixture.stores.completions.end(completions).count == 2)
        let again = try await fixture.claim(by: rescuer)
        #expect(again.map(\.number) == [2, 2])
        try await fixture.checkInvariants()
    }

    @Test func parallelRescuersShareTheWork() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(200)
        let claims = try await fixture.claim(200)
        try await fixture.beginRenames(Array(claims.prefix(50)))
        try await fixture.silence(fixture.worker)
        let takeovers = try await withThrowingTaskGroup(of: Takeover.self) { group in
            for _ in 0..<4 {
                let rescuer = try await fixture.otherWorker()
                group.addTask {
                    try await fixture.stores.workers.takeOver(
                        silentFor: Self.lease,
                        identity: rescuer
                    )
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(takeovers.map(\.workers).reduce(0, +) == 1)
        var ended = 0
        for takeover in takeovers {
            ended += try await fixture.end(takeover.attempts, .requeued).count
            ended += try await fixture.stores.completions.end(
                takeover.pendingRenames.map {
                    AttemptEnd(task: $0.task, fence: $0.fence, outcome: .completed)
                }
            ).count
        }
        #expect(ended == ids.count)
        try await fixture.checkInvariants()
    }

    @Test func aClaimDuringTheTakeoverIsNotForgotten() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        for _ in 0..<10 {
            let victim = try await fixture.otherWorker()
            let ids = try await fixture.submit(20)
            try await fixture.silence(victim)
            let rescuer = try await fixture.otherWorker()
            async let claims = fixture.claim(20, by: victim)
            async let early = fixture.stores.workers.takeOver(
                silentFor: Self.lease,
                identity: rescuer
            )
            let claimed = try await claims
            var attempts = try await early.attempts
            // A worker whose row was locked by its claim is found by the next look.
            attempts += try await fixture.stores.workers.takeOver(
                silentFor: Self.lease,
                identity: rescuer
            ).attempts
            #expect(Set(attempts.map(\.task)) == Set(claimed.map(\.task)))
            try await fixture.end(attempts, .requeued)
            try await fixture.complete(try await fixture.claim())
            #expect(try await fixture.states(ids).allSatisfy { $0 == .completed })
        }
        try await fixture.checkInvariants()
    }

    @Test func givesDeliveriesOfADeadWorkerFree() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit()
        let claim = try await fixture.stores.deliveries.claimDeliveries(
            fixture.worker.reserve(1),
            limit: 1,
            lease: .seconds(600)
        ).claims[0]
        try await fixture.silence(fixture.worker)
        let rescuer = try await fixture.otherWorker()
        _ = try await fixture.stores.workers.takeOver(silentFor: Self.lease, identity: rescuer)
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) == .stale)
        let next = try await fixture.stores.deliveries.claimDeliveries(
            rescuer.reserve(1),
            limit: 1,
            lease: .seconds(600)
        ).claims
        #expect(next.map(\.session) == [claim.session])
    }

    /// It has claimed the delivery, or the task, while the takeover waited for the row.
    @Test(arguments: ["delivery", "attempt"])
    func aWorkerThatRegistersMeanwhileKeepsItsClaim(table: String) async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit()
        try await fixture.separate(try await fixture.claim())
        _ = try await fixture.claimDeliveries()
        let rescuer = try await fixture.otherWorker()
        // Only one of the two is left without its worker.
        _ = try await fixture.aside.execute(
            "UPDATE \(identifier: table) SET worker = 8000000, fence = 5"
        )
        let claim = try await TestDatabase.current.connection()
        _ = try await claim.execute("BEGIN")
        _ = try await claim.execute("SELECT 1 FROM \(identifier: table) FOR UPDATE")
        async let takeover = fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        try await fixture.eventuallyWaits(for: claim)
        let late = try await fixture.stores.workers.registerWorker(name: "late")
        _ = try await claim.execute("UPDATE \(identifier: table) SET worker = \(late), fence = 6")
        _ = try await claim.execute("COMMIT")
        await claim.close()
        _ = try await takeover
        #expect(
            try await fixture.count(
                """
                SELECT count(*) AS count FROM \(identifier: table)
                WHERE worker = \(late) AND fence = 6
                """
            ) == 1
        )
    }
}

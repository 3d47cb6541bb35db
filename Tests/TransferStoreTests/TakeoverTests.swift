import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct TakeoverTests {
    private static let lease: Duration = .seconds(600)

    @Test func leavesAWorkerAloneThatGivesSignsOfLife() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        _ = try await fixture.claim()
        let rescuer = try await fixture.otherWorker()
        #expect(try await fixture.store.heartbeat(incarnation: fixture.worker.incarnation))
        let takeover = try await fixture.store.takeOver(silentFor: Self.lease, identity: rescuer)
        #expect(takeover.workers == 0)
        #expect(takeover.attempts.isEmpty)
    }

    @Test func aWorkerNeverDeclaresItselfDead() async throws {
        let fixture = try await StoreFixture()
        try await fixture.silence(fixture.worker)
        let takeover = try await fixture.store.takeOver(
            silentFor: Self.lease,
            identity: fixture.worker
        )
        #expect(takeover.workers == 0)
        #expect(try await fixture.store.heartbeat(incarnation: fixture.worker.incarnation))
    }

    @Test func takesTheAttemptsAndPublicationsOfASilentWorker() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(5)
        let claims = try await fixture.claim()
        try await fixture.publish(Array(claims.suffix(2)))
        // Cancelled, and its worker dies before it removes the part file.
        _ = try await fixture.store.cancelTask(tenant: fixture.tenant, id: claims[0].task)
        try await fixture.silence(fixture.worker)
        let rescuer = try await fixture.otherWorker()
        let takeover = try await fixture.store.takeOver(silentFor: Self.lease, identity: rescuer)
        #expect(takeover.workers == 1)
        #expect(Set(takeover.attempts.map(\.task)) == Set(claims[1...2].map(\.task)))
        #expect(Set(takeover.publications.map(\.task)) == Set(claims[3...4].map(\.task)))
        // The part files keep the names that the dead worker gave them.
        let abandoned = try await fixture.store.abandonedParts()
        #expect(Set(abandoned.map(\.fence)) == Set(claims[0...2].map(\.fence)))
        try await fixture.store.forgetAbandonedParts(abandoned.map(\.fence))
        #expect(try await fixture.store.abandonedParts().isEmpty)
        #expect(Set(takeover.publications.map(\.partFence)) == Set(claims[3...4].map(\.fence)))
        #expect(takeover.publications.allSatisfy { $0.result == StoreFixture.result })
        let fences = takeover.attempts.map(\.fence) + takeover.publications.map(\.fence)
        #expect(Set(fences).count == 4)
        #expect(Set(fences).isDisjoint(with: claims.map(\.fence)))
        // The dead worker was only asleep: whatever it does now is too late.
        #expect(try await !fixture.store.heartbeat(incarnation: fixture.worker.incarnation))
        #expect(try await fixture.publish(claims).isEmpty)
        #expect(try await fixture.conclude(claims, .completed).isEmpty)
        #expect(try await fixture.conclude(claims, .released).isEmpty)
        #expect(try await fixture.claim().isEmpty)
        #expect(try await fixture.conclude(takeover.attempts, .requeued).count == 2)
        let completions = takeover.publications.map {
            Conclusion(task: $0.task, fence: $0.fence, verdict: .completed)
        }
        #expect(try await fixture.store.conclude(completions).count == 2)
        let again = try await fixture.claim(by: rescuer)
        #expect(again.map(\.number) == [2, 2])
        try await fixture.checkInvariants()
    }

    @Test func parallelRescuersShareTheWork() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(200)
        let claims = try await fixture.claim(200)
        try await fixture.publish(Array(claims.prefix(50)))
        try await fixture.silence(fixture.worker)
        let takeovers = try await withThrowingTaskGroup(of: Takeover.self) { group in
            for _ in 0..<4 {
                let rescuer = try await fixture.otherWorker()
                group.addTask {
                    try await fixture.store.takeOver(silentFor: Self.lease, identity: rescuer)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(takeovers.map(\.workers).reduce(0, +) == 1)
        var concluded = 0
        for takeover in takeovers {
            concluded += try await fixture.conclude(takeover.attempts, .requeued).count
            concluded += try await fixture.store.conclude(
                takeover.publications.map {
                    Conclusion(task: $0.task, fence: $0.fence, verdict: .completed)
                }
            ).count
        }
        #expect(concluded == ids.count)
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
            async let early = fixture.store.takeOver(silentFor: Self.lease, identity: rescuer)
            let claimed = try await claims
            var attempts = try await early.attempts
            // A worker whose row was locked by its claim is found by the next look.
            attempts += try await fixture.store.takeOver(
                silentFor: Self.lease,
                identity: rescuer
            ).attempts
            #expect(Set(attempts.map(\.task)) == Set(claimed.map(\.task)))
            try await fixture.conclude(attempts, .requeued)
            try await fixture.complete(try await fixture.claim())
            #expect(try await fixture.states(ids).allSatisfy { $0 == .completed })
        }
        try await fixture.checkInvariants()
    }

    @Test func givesDeliveriesOfADeadWorkerFree() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit()
        let claim = try await fixture.store.claimDeliveries(
            fixture.worker.reserve(1),
            limit: 1,
            lease: .seconds(600)
        ).claims[0]
        try await fixture.silence(fixture.worker)
        let rescuer = try await fixture.otherWorker()
        _ = try await fixture.store.takeOver(silentFor: Self.lease, identity: rescuer)
        #expect(try await !fixture.store.releaseDelivery(claim))
        let next = try await fixture.store.claimDeliveries(
            rescuer.reserve(1),
            limit: 1,
            lease: .seconds(600)
        ).claims
        #expect(next.map(\.session) == [claim.session])
    }
}

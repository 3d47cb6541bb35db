import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Claims that the database has no longer: it crashed before they had reached the disk, or another
/// server that never had them is in its place.
@Suite(.postgresSchema, .timeLimit(.minutes(4))) struct LostClaimTests {
    private static let body = OriginBody.random(seed: 57, size: 5000)

    /// Has the database lose the first claim right after it was made; its tasks are in the queue
    /// then, as before.
    private static func loseFirstClaim() async throws {
        let aside = try await TestDatabase.current.connection()
        try await aside.executeScript("CREATE TABLE kept AS SELECT * FROM ready_run")
        await aside.close()
        try await EngineFixture.interfere(
            "AFTER INSERT ON attempt_run",
            """
            IF EXISTS (SELECT 1 FROM attempt_run) THEN
                IF nextval('turn') = 1 THEN
                    DELETE FROM attempt_run;
                    INSERT INTO ready_run SELECT * FROM kept;
                END IF;
            END IF;
            """
        )
    }

    /// Gives attempts back behind the back of their worker, which leaves what a loss leaves.
    private static func lose(_ claims: [TaskClaim], _ fixture: EngineFixture) async throws {
        let ends = claims.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .released) }
        let given = try await fixture.stores.completions.end(ends)
        #expect(given.count == claims.count)
    }

    @Test func whatMustNotBeSentTwiceIsNotSentForAClaimThatWasLost() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/in", .response(200))
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(method: "POST", upload: .data([1]))
        }
        try await Self.loseFirstClaim()
        try await fixture.withEngine { _ in try await fixture.expectCompletion([id]) }
        #expect(fixture.origin.log.now.requests.count == 1)
    }

    @Test func anAttemptWhoseClaimWasLostIsStopped() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/held", .gated(Self.body, after: 1000, gate))
        let id = try await fixture.submit(fixture.origin.url("/held"))
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } _: { engine in
            await fixture.origin.log.arrived(1, at: "/held")
            let lost = try #require(engine.active.all.first)
            try await Self.lose([lost.claim], fixture)
            engine.wake()
            try await eventually("it is stopped") { lost.connections.isAbandoned }
            gate.open()
            try await fixture.expectCompletion([id])
        }
        // The attempt after it is not stopped.
        #expect(fixture.origin.log.now.requests(at: "/held").count == 2)
    }

    /// Waits for a look, which follows the one before after a rest.
    private static func look(
        _ finder: ForgottenAttemptFinder,
        _ forgotten: inout ForgottenAttempts
    ) async throws {
        let last = forgotten.dueAt
        try await eventually("it was looked for", within: .seconds(60)) {
            try await finder.look(for: &forgotten)
            return forgotten.dueAt != last
        }
    }

    /// One runs, one is being renamed, one is cancelled, and the claims of two were lost.
    @Test func whatTheDatabaseHasOrHasTakenAwayIsNotStoppedAsLost() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        for _ in 0..<5 { _ = try await fixture.submit(fixture.origin.url("/file")) }
        let worker = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "other")
        )
        let claims = try await fixture.stores.queue.claimAny(5, by: worker)
        try #require(claims.count == 5)
        let attempts = claims.map(RunningAttempt.init)
        let log = RecordingLog()
        try await fixture.withEngine { engine in
            let active = ActiveAttempts(on: engine.loops, connectionsMax: 5) {
                ConnectionSlots.Place(flow: $0.flow, perHost: 5, perFlow: 5)
            }
            let finder = ForgottenAttemptFinder(
                workers: fixture.stores.workers,
                control: fixture.stores.control,
                identity: worker,
                active: active,
                completer: engine.completer,
                unanswered: UnansweredClaims(),
                logger: log.logger
            )
            for attempt in attempts[..<4] { #expect(active.insert(attempt)) }
            let result = TransferResult(httpStatus: 200, bytesReceived: 5, isLengthVerified: true)
            let file = FileIdentity(inode: 1, bornAtNanoseconds: 1)
            let begun = try await fixture.stores.completions.end(
                [],
                beginning: [PendingRename(of: claims[1], result: result, file: file)]
            )
            #expect(begun == [claims[1].task])
            let cancelled = claims[2].task
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: cancelled)
            try await Self.lose(Array(claims[3...]), fixture)
            var forgotten = ForgottenAttempts()
            try await Self.look(finder, &forgotten)
            #expect(attempts.map(\.isAbandoned) == [false, false, false, false, false])
            // Its claim was answered only now.
            #expect(active.insert(attempts[4]))
            try await Self.look(finder, &forgotten)
            #expect(attempts.map(\.isAbandoned) == [false, false, false, true, false])
            try await Self.look(finder, &forgotten)
            #expect(attempts.map(\.isAbandoned) == [false, false, false, true, true])
            try await Self.look(finder, &forgotten)
            let stops = log.lines.filter { $0.contains("stopped attempts") }
            #expect(stops.count == 2)
            #expect(stops.allSatisfy { $0.hasPrefix("notice") && $0.contains("count=1") })
        }
    }
}

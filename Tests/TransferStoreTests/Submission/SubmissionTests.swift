import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct SubmissionTests {
    private static func record(
        _ key: String = "key",
        request: UInt8 = 1,
        body: String = "first"
    ) -> IdempotencyRecord {
        IdempotencyRecord(
            key: Array(key.utf8),
            requestSHA256: Array(repeating: request, count: 32),
            response: IdempotencyRecord.Response(
                status: 202,
                location: "/v1/tasks",
                body: Array(body.utf8)
            )
        )
    }

    @Test func keepsWhatWasSubmittedByteForByte() async throws {
        let fixture = try await StoreFixture()
        let text = "nul \u{0}, e\u{301} \u{E9} 👩‍👩‍👧‍👦"
        let begin = Date(timeIntervalSinceReferenceDate: 900_000_000.123456)
        let id = try await fixture.submit { submission, _ in
            submission.url = "https://origin.test/ä?q=1"
            submission.clientString = ClientString(text)
            submission.earliestBeginAt = begin
            submission.destination = Destination(path: "a/b", overwrite: true)
            submission.priority = TaskPriority(rank: 7)
        }[0]
        let task = try await fixture.task(id)
        #expect(task.url == "https://origin.test/ä?q=1")
        #expect(task.clientString == ClientString(text))
        #expect(abs(try #require(task.earliestBeginAt).timeIntervalSince(begin)) < 0.000_002)
        #expect(task.destination == Destination(path: "a/b", overwrite: true))
        #expect(task.priority.rank == 7)
        let event = try await fixture.events()[0]
        #expect(event.task?.clientString == ClientString(text))
    }

    @Test func numbersEventsInOrderAndOpensGenerations() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3)
        try await fixture.submit(2)
        #expect(try await fixture.session().progress.generation == 1)
        let events = try await fixture.events()
        #expect(events.map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(events.prefix(3).compactMap(\.task?.id) == ids)
        try await fixture.complete(try await fixture.claim())
        let drained = try await fixture.session().progress
        #expect(drained.outstanding == 0)
        #expect(drained.completed == 5)
        try await fixture.submit()
        let next = try await fixture.session().progress
        #expect(next.generation == 2)
        #expect(next.outstanding == 1)
        #expect(next.completed == 0)
        try await fixture.checkInvariants()
    }

    @Test func parallelSubmissionsShareAGenerationAndLeaveNoGaps() async throws {
        let fixture = try await StoreFixture()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { _ = try await fixture.submit(5) } }
            try await group.waitForAll()
        }
        let progress = try await fixture.session().progress
        #expect(progress.generation == 1)
        #expect(progress.outstanding == 200)
        #expect(progress.lastSequence == 200)
        try await fixture.checkInvariants()
    }

    @Test func happensAsAWholeOrNotAtAll() async throws {
        let fixture = try await StoreFixture()
        var submissions = StoreFixture.submissions(3)
        submissions.append(submissions[0])
        await #expect(throws: StoreError.self) {
            try await fixture.stores.submissions.submit(
                submissions,
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier
            )
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 0)
        #expect(try await fixture.session().progress == SessionProgress())
        try await fixture.checkInvariants()
    }

    @Test func anUnknownOrEndedSessionGetsNothing() async throws {
        let fixture = try await StoreFixture()
        let identifier = StoreFixture.identifier
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: identifier
        )
        for name in ["unknown", identifier] {
            let result = try await fixture.stores.submissions.submit(
                StoreFixture.submissions(1),
                tenant: fixture.tenant,
                sessionIdentifier: name,
                idempotency: Self.record(name)
            )
            guard case .unknownSession = result else {
                Issue.record("\(result)")
                continue
            }
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 0)
        // A request without effect keeps no key.
        #expect(try await fixture.count("SELECT count(*) AS count FROM idempotency_key") == 0)
    }

    @Test func aRepeatedRequestIsAnsweredAgainAndDoesNothing() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        func submit(_ record: IdempotencyRecord) async throws -> SubmitResult {
            try await stores.submissions.submit(
                StoreFixture.submissions(2),
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier,
                idempotency: record
            )
        }
        guard case .accepted = try await submit(Self.record()) else {
            Issue.record("the first request was not accepted")
            return
        }
        guard case .replay(let response) = try await submit(Self.record(body: "second")) else {
            Issue.record("the repeated request was not recognized")
            return
        }
        #expect(response == Self.record().response)
        guard case .idempotencyMismatch = try await submit(Self.record(request: 2)) else {
            Issue.record("another request with the key was not refused")
            return
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 2)
        let found = try await stores.idempotency.lookUp(
            idempotencyKey: Array("key".utf8),
            requestSHA256: Array(repeating: 1, count: 32),
            tenant: fixture.tenant
        )
        #expect(found == .replay(Self.record().response))
        try await fixture.checkInvariants()
    }

    @Test func ofFiftyEqualRequestsAtOnceOneIsDone() async throws {
        let fixture = try await StoreFixture()
        let results = try await withThrowingTaskGroup(of: SubmitResult.self) { group in
            for index in 0..<50 {
                group.addTask {
                    try await fixture.stores.submissions.submit(
                        StoreFixture.submissions(1),
                        tenant: fixture.tenant,
                        sessionIdentifier: StoreFixture.identifier,
                        idempotency: Self.record(body: "\(index)")
                    )
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var accepted = 0
        var bodies: Set<[UInt8]> = []
        for result in results {
            switch result {
            case .accepted: accepted += 1
            case .replay(let response): bodies.insert(response.body)
            case .sessionFinishing, .clientForceQuit, .queueFull, .unknownSession,
                .unknownResumeData,
                .dataNeedsEphemeralSession,
                .idempotencyMismatch:
                Issue.record("\(result)")
            }
        }
        #expect(accepted == 1)
        #expect(bodies.count == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 1)
        try await fixture.checkInvariants()
    }

    @Test func anotherTenantsKeyIsAnotherKey() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.stores.submissions.submit(
            StoreFixture.submissions(1),
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier,
            idempotency: Self.record()
        )
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(
                id: "other",
                secretSHA256: Array(repeating: 1, count: 32),
                name: "other"
            ),
            tenantName: "other"
        )
        let found = try await fixture.stores.idempotency.lookUp(
            idempotencyKey: Array("key".utf8),
            requestSHA256: Array(repeating: 1, count: 32),
            tenant: other
        )
        #expect(found == .none)
    }

    @Test func forgetsKeysAfterTheirTime() async throws {
        let fixture = try await StoreFixture()
        for key in ["old", "new"] {
            _ = try await fixture.stores.submissions.submit(
                StoreFixture.submissions(1),
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier,
                idempotency: Self.record(key)
            )
        }
        _ = try await fixture.aside.execute(
            """
            UPDATE idempotency_key SET created_at = now() - interval '25 hours'
            WHERE key = \(Array("old".utf8))
            """
        )
        // The other two hours have passed by the database's clock alone.
        let early = Date() - 2 * 3600
        #expect(try await fixture.stores.idempotency.pruneIdempotencyKeys(notAfter: early) == 0)
        #expect(try await fixture.stores.idempotency.pruneIdempotencyKeys() == 1)
        #expect(try await fixture.stores.idempotency.pruneIdempotencyKeys() == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM idempotency_key") == 1)
    }
}

import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Requests that are grouped, forced by a lock on the session of the first of them.
@Suite(.postgresSchema) struct SubmissionGroupTests {
    @Test func requestsThatComeTogetherShareACommit() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("other")
        try await fixture.holding(StoreFixture.identifier) { group in
            group.addTask { try await fixture.submit() }
            try await fixture.waits(for: 1)
            for _ in 0..<20 {
                group.addTask { try await fixture.submit(2) }
            }
            try await fixture.waits(for: 21)
        }
        // The time of a transaction is its start: of the first request alone, and of the group.
        let times: Query = "SELECT count(DISTINCT created_at) AS count FROM task"
        #expect(try await fixture.count(times) == 2)
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 41)
        #expect(try await fixture.session().progress.lastSequence == 41)
        try await fixture.checkInvariants()
    }

    @Test func whoIsWrongHarmsNobodyElse() async throws {
        let fixture = try await StoreFixture()
        let twice = StoreFixture.submissions(1)[0]
        try await fixture.holding(StoreFixture.identifier) { group in
            group.addTask { try await fixture.submit() }
            try await fixture.waits(for: 1)
            for _ in 0..<10 { group.addTask { try await fixture.submit(3) } }
            group.addTask {
                // A defect of the caller: one identifier for two tasks.
                await #expect(throws: StoreError.self) {
                    try await fixture.stores.submissions.submit(
                        [twice, twice],
                        tenant: fixture.tenant,
                        sessionIdentifier: StoreFixture.identifier
                    )
                }
                return []
            }
            try await fixture.waits(for: 12)
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 31)
        try await fixture.checkInvariants()
    }

    @Test func aLockedSessionIsLeftOutOfItsGroup() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("open")
        let batches = [StoreFixture.identifier, "open", "unknown"].map {
            fixture.batch([2, 1], to: $0, of: fixture.tenant)
        }
        let stored = try await fixture.holding(StoreFixture.identifier) { group in
            group.addTask {
                try await fixture.stores.submissions.submit(batches, whenLocked: .skip)
            }
            try await eventually("the other batch is stored") {
                try await fixture.count("SELECT count(*) AS count FROM task") == 3
            }
        }
        let first = SubmitResult.accepted(generation: 1, signals: [.work, .events])
        #expect(stored == [[1: first]])
        let waited = try await fixture.stores.submissions.submit([batches[0]], whenLocked: .wait)
        #expect(waited == [0: first])
        #expect(try await fixture.session().progress.lastSequence == 3)
        try await fixture.checkInvariants()
    }

    @Test func eachBatchHasItsOwnTenantAndNumbers() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.otherTenant()
        try await fixture.putSession("second")
        try await fixture.submit(4, to: "second")
        let batches = [
            fixture.batch([1, 2], to: StoreFixture.identifier, of: other),
            fixture.batch([2], to: "second", of: fixture.tenant),
            fixture.batch([1, 1, 1], to: StoreFixture.identifier, of: fixture.tenant),
        ]
        let stored = try await fixture.stores.submissions.submit(batches, whenLocked: .skip)
        let first = SubmitResult.accepted(generation: 1, signals: [.work, .events])
        #expect(stored == [0: first, 1: first, 2: first])
        #expect(try await fixture.strayCount() == 0)
        // In the order of the requests, after the existing events.
        let events = try await fixture.events("second")
        #expect(events.map(\.sequence) == Array(1...6))
        #expect(events.suffix(2).map(\.task?.id) == batches[1].submissions.map(\.id))
        #expect(try await fixture.session("second").progress.outstanding == 6)
        #expect(try await fixture.session().progress.lastSequence == 3)
        try await fixture.checkInvariants()
    }

    @Test func eachIsToldOfItsOwnSession() async throws {
        let fixture = try await StoreFixture()
        for name in ["open", "finishing", "blocked"] { try await fixture.putSession(name) }
        try await fixture.submit(to: "finishing")
        _ = try await fixture.stores.sessions.finishSession(
            tenant: fixture.tenant,
            identifier: "finishing"
        )
        let outcomes = try await fixture.holding("blocked") { group in
            group.addTask { try await fixture.outcome("blocked") }
            try await fixture.waits(for: 1)
            // While nothing but the blocked one is under way, others proceed at once.
            for name in ["open", "finishing", "unknown", StoreFixture.identifier] {
                group.addTask { try await fixture.outcome(name) }
            }
            try await eventually("the others have their answers") {
                try await fixture.count("SELECT count(*) AS count FROM task") == 3
            }
        }
        #expect(
            outcomes.sorted() == [
                "blocked accepted", "finishing finishing", "nightly accepted", "open accepted",
                "unknown unknown",
            ]
        )
        try await fixture.checkInvariants()
    }

    @Test func equalRequestsInAGroupAreDoneOnce() async throws {
        let fixture = try await StoreFixture()
        let record = IdempotencyRecord(
            key: Array("key".utf8),
            requestSHA256: Array(repeating: 1, count: 32),
            response: IdempotencyRecord.Response(status: 202, location: nil, body: [1])
        )
        let outcomes = try await fixture.holding(StoreFixture.identifier) { group in
            group.addTask { try await fixture.outcome() }
            try await fixture.waits(for: 1)
            for _ in 0..<5 { group.addTask { try await fixture.outcome(keeping: record) } }
            group.addTask { try await fixture.outcome() }
            try await fixture.waits(for: 7)
        }
        #expect(outcomes.count { $0 == "nightly replay" } == 4)
        #expect(outcomes.count { $0 == "nightly accepted" } == 3)
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 3)
        try await fixture.checkInvariants()
    }

    @Test func keysOfAGroupAreKeptWithItsTasks() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.holding(StoreFixture.identifier) { group in
            group.addTask { try await fixture.outcome() }
            try await fixture.waits(for: 1)
            for number in UInt8(0)..<9 {
                group.addTask {
                    try await fixture.outcome(
                        keeping: IdempotencyRecord(
                            key: [number],
                            requestSHA256: Array(repeating: number, count: 32),
                            response: .init(status: 202, location: "/\(number)", body: [number])
                        )
                    )
                }
            }
            try await fixture.waits(for: 10)
        }
        for number in UInt8(0)..<9 {
            let found = try await fixture.stores.idempotency.lookUp(
                idempotencyKey: [number],
                requestSHA256: Array(repeating: number, count: 32),
                tenant: fixture.tenant
            )
            #expect(
                found == .replay(.init(status: 202, location: "/\(number)", body: [number]))
            )
        }
    }

    @Test func tenantsInAGroupHaveTheirOwnTasks() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.otherTenant()
        let full = try await fixture.stores.tenants.limitTenant(
            named: "test",
            changes: TenantLimitChanges(outstandingTasksMax: 1)
        )
        #expect(full)
        let outcomes = try await fixture.holding(StoreFixture.identifier) { group in
            group.addTask { try await fixture.outcome() }
            try await fixture.waits(for: 1)
            for _ in 0..<3 { group.addTask { try await fixture.outcome() } }
            try await fixture.waits(for: 4)
            group.addTask { try await fixture.outcome(tenant: other) }
        }
        #expect(outcomes.count { $0 == "nightly accepted" } == 2)
        #expect(outcomes.count { $0 == "nightly quota" } == 3)
        #expect(try await fixture.strayCount() == 0)
        try await fixture.checkInvariants()
    }

    @Test func aCallerThatGoesAwayLeavesItsGroupWhole() async throws {
        let fixture = try await StoreFixture()
        try await fixture.holding(StoreFixture.identifier) { group in
            group.addTask { try await fixture.submit() }
            try await fixture.waits(for: 1)
            let away = Task { try await fixture.outcome() }
            try await fixture.waits(for: 2)
            for _ in 0..<4 { group.addTask { try await fixture.submit() } }
            try await fixture.waits(for: 6)
            away.cancel()
            await #expect(throws: StoreError.self) { try await away.value }
            try await fixture.waits(for: 5)
        }
        #expect(try await fixture.session().progress.outstanding == 5)
        try await fixture.checkInvariants()
    }
}

extension StoreFixture {
    /// Runs `body` while the counters of a session are locked, then releases its requests.
    @discardableResult
    fileprivate func holding<Value: Sendable>(
        _ identifier: String,
        _ body: (inout ThrowingTaskGroup<Value, any Error>) async throws -> Void
    ) async throws -> [Value] {
        let session = try await session(identifier).id
        try await aside.executeScript(
            """
            BEGIN; SELECT 1 FROM session_progress WHERE session_id = '\(session.uuid)' FOR UPDATE
            """
        )
        return try await withThrowingTaskGroup(of: Value.self) { group in
            try await body(&group)
            try await aside.executeScript("COMMIT")
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Makes another tenant, with a session of the same name.
    fileprivate func otherTenant() async throws -> TenantID {
        let other = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "other",
                secretSHA256: Array(repeating: 1, count: 32),
                name: "other"
            ),
            tenantName: "other"
        )
        _ = try await stores.sessions.putSession(
            tenant: other,
            identifier: Self.identifier,
            configuration: SessionConfiguration()
        )
        return other
    }

    /// Returns requests with the given numbers of tasks.
    fileprivate func batch(
        _ counts: [Int],
        to identifier: String,
        of tenant: TenantID
    ) -> SessionBatch {
        let session = SessionKey(tenant: tenant, client: .default, identifier: identifier)
        let requests = counts.map { count in
            SubmissionRequest(
                submissions: Self.submissions(count),
                session: session,
                idempotency: nil,
                lease: nil
            )
        }
        return SessionBatch(session: session, requests: requests)
    }

    /// Returns the number of tasks of another tenant than their session's.
    fileprivate func strayCount() async throws -> Int64 {
        try await count(
            """
            SELECT count(*) AS count FROM task t JOIN session s ON s.id = t.session_id
            WHERE s.tenant_id <> t.tenant_id
            """
        )
    }

    /// Returns when a request waits for the lock, and the others of `count` for that one.
    fileprivate func waits(for count: Int) async throws {
        try await eventually("\(count) requests have come") {
            guard stores.submissions.gatherer.waitingCount == count - 1 else { return false }
            return try await countOfWaiting(for: aside) >= 1
        }
    }

    /// Submits a task and returns its outcome in a word.
    fileprivate func outcome(
        _ identifier: String = StoreFixture.identifier,
        tenant other: TenantID? = nil,
        keeping record: IdempotencyRecord? = nil
    ) async throws -> String {
        let result: SubmitResult
        do {
            result = try await stores.submissions.submit(
                Self.submissions(1),
                tenant: other ?? tenant,
                sessionIdentifier: identifier,
                idempotency: record
            )
        } catch {
            guard case .quotaExceeded = error else { throw error }
            return "\(identifier) quota"
        }
        return switch result {
        case .accepted: "\(identifier) accepted"
        case .replay: "\(identifier) replay"
        case .sessionFinishing: "\(identifier) finishing"
        case .unknownSession: "\(identifier) unknown"
        default: "\(identifier) \(result)"
        }
    }
}

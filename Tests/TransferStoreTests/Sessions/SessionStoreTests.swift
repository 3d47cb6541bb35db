import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct SessionStoreTests {
    @Test func fiftyParallelCreationsMakeOneSession() async throws {
        let fixture = try await StoreFixture()
        let made = try await withThrowingTaskGroup(of: (SessionID?, Bool).self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let result = try await fixture.stores.sessions.putSession(
                        tenant: fixture.tenant,
                        identifier: "shared",
                        configuration: SessionConfiguration()
                    )
                    return (result.session?.id, result.isCreated)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(made.map(\.0)).count == 1)
        #expect(made.count { $0.1 } == 1)
        let query: Query = "SELECT count(*) AS count FROM session WHERE identifier = 'shared'"
        #expect(try await fixture.count(query) == 1)
    }

    @Test func aSecondCreationReplacesTheConfiguration() async throws {
        let fixture = try await StoreFixture()
        let header = HTTPHeader(name: "X-Trace", value: "a\u{301} \"quoted\"")
        let configuration = SessionConfiguration(
            timeoutForRequest: .milliseconds(1500),
            timeoutForResource: .seconds(60),
            additionalHeaders: [header]
        )
        let session = try await fixture.putSession(StoreFixture.identifier, configuration)
        #expect(session.configuration == configuration)
        #expect(try await fixture.session().configuration == configuration)
    }

    @Test func tenantsDoNotSeeEachOther() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(
                id: "other",
                secretSHA256: Array(repeating: 1, count: 32),
                name: "other"
            ),
            tenantName: "other"
        )
        let tasks = try await fixture.submit()
        let stores = fixture.stores
        let identifier = StoreFixture.identifier
        #expect(try await stores.sessions.session(tenant: other, identifier: identifier) == nil)
        #expect(try await stores.sessions.sessions(tenant: other, after: nil, limit: 10).isEmpty)
        #expect(try await stores.tasks.task(tenant: other, id: tasks[0]) == nil)
        #expect(try await stores.control.cancelTask(tenant: other, id: tasks[0]) == nil)
        #expect(try await stores.control.resumeTask(tenant: other, id: tasks[0]) == nil)
        #expect(try await !stores.sessions.invalidateSession(tenant: other, identifier: identifier))
        #expect(
            try await stores.events.events(
                tenant: other,
                sessionIdentifier: identifier,
                after: 0,
                limit: 10
            ) == nil
        )
        #expect(try await fixture.state(tasks[0]) == .queued)
    }

    @Test func pagesAreInByteOrderWithoutGapsOrRepeats() async throws {
        let fixture = try await StoreFixture()
        let identifiers = ["B", "a", "a0", "a\u{301}", "á", "Z", "_", "~"]
        for identifier in identifiers { try await fixture.putSession(identifier) }
        var found: [String] = []
        while true {
            let page = try await fixture.stores.sessions.sessions(
                tenant: fixture.tenant,
                after: found.last.map { SessionPlace(client: .default, identifier: $0) },
                limit: 3
            )
            if page.isEmpty { break }
            found += page.map(\.identifier)
        }
        let expected = (identifiers + [StoreFixture.identifier]).map { Array($0.utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        #expect(found.map { Array($0.utf8) } == expected)
    }

    @Test func anInvalidatedSessionEndsAndFreesItsName() async throws {
        let fixture = try await StoreFixture()
        let old = try await fixture.session()
        let held = try await fixture.submit { submission, _ in submission.autostart = false }
        let delayed = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
        }
        let waiting = try await fixture.submit(3)
        let claims = try await fixture.claim(2)
        try await fixture.beginRenames([claims[0]])
        let identifier = StoreFixture.identifier
        #expect(
            try await fixture.stores.sessions.invalidateSession(
                tenant: fixture.tenant,
                identifier: identifier
            )
        )
        #expect(
            try await !fixture.stores.sessions.invalidateSession(
                tenant: fixture.tenant,
                identifier: identifier
            )
        )
        #expect(
            try await fixture.stores.sessions.session(
                tenant: fixture.tenant,
                identifier: identifier
            ) == nil
        )
        // A pending rename is past the point of no return.
        #expect(try await fixture.state(claims[0].task) == .running)
        let others = (held + delayed + waiting).filter { $0 != claims[0].task }
        #expect(try await fixture.states(others).allSatisfy { $0 == .cancelled })
        try await fixture.end([claims[0]], .completed)
        let events = try await fixture.stores.events.events(of: old.id, after: 0, limit: 100)
        #expect(
            events.suffix(2).map(\.kind) == [.sessionEventsFinished, .sessionInvalidated]
        )
        #expect(events.count { $0.kind == .sessionInvalidated } == 1)
        let new = try await fixture.putSession()
        #expect(new.id != old.id)
        #expect(new.progress == SessionProgress())
        try await fixture.checkInvariants()
    }

    @Test func anInvalidationThatWasCutShortIsContinued() async throws {
        let fixture = try await StoreFixture()
        let session = try await fixture.session()
        let ids = try await fixture.submit(3)
        try await fixture.beginRenames(try await fixture.claim(1))
        // The state left by a service that dies right after the first commit.
        _ = try await fixture.aside.execute([
            "UPDATE session SET invalidated_at = now() WHERE id = \(session.id.uuid)",
            """
            UPDATE session_progress SET is_invalidated = true
            WHERE session_id = \(session.id.uuid)
            """,
            """
            INSERT INTO cancellation (session_id, tenant_id)
            VALUES (\(session.id.uuid), \(fixture.tenant.uuid))
            """,
        ])
        try await fixture.stores.cancellations.continueCancellations()
        #expect(
            try await fixture.states(ids).sorted { $0.rawValue < $1.rawValue }
                == [.cancelled, .cancelled, .running]
        )
        // It is remembered as long as a rename is pending.
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 1)
        _ = try await fixture.aside.execute("DELETE FROM rename_run")
        _ = try await fixture.aside.execute(
            "UPDATE session_progress SET outstanding = 0 WHERE session_id = \(session.id.uuid)"
        )
        try await fixture.stores.cancellations.continueCancellations()
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
    }

    @Test func invalidationsAndEndsOfManyTasksDoNotBlockEachOther() async throws {
        let fixture = try await StoreFixture()
        for round in 0..<5 {
            let identifier = "round-\(round)"
            let session = try await fixture.putSession(identifier)
            try await fixture.submit(200, to: identifier)
            let claims = try await fixture.claim(200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    _ = try await fixture.stores.sessions.invalidateSession(
                        tenant: fixture.tenant,
                        identifier: identifier
                    )
                }
                for part in 0..<4 {
                    // Backwards, so that the rows are visited in another order.
                    let mine = claims.enumerated().filter { $0.offset % 4 == part }
                        .map(\.element)
                    group.addTask {
                        try await fixture.end(mine.reversed(), .failed(StoreFixture.failure))
                    }
                }
                try await group.waitForAll()
            }
            let last = try await fixture.stores.events.events(of: session.id, after: 0, limit: 1000)
                .last
            #expect(last?.kind == .sessionInvalidated)
        }
        try await fixture.checkInvariants()
    }

    @Test func noSubmissionSlipsIntoASessionThatIsBeingInvalidated() async throws {
        let fixture = try await StoreFixture()
        for round in 0..<20 {
            let identifier = "round-\(round)"
            let session = try await fixture.putSession(identifier)
            async let isEnded = fixture.stores.sessions.invalidateSession(
                tenant: fixture.tenant,
                identifier: identifier
            )
            let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let result = try await fixture.stores.submissions.submit(
                            StoreFixture.submissions(3),
                            tenant: fixture.tenant,
                            sessionIdentifier: identifier
                        )
                        if case .accepted = result { return true }
                        return false
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(try await isEnded)
            let outcomes: Query = """
                SELECT count(*) AS count FROM outcome
                WHERE session_id = \(session.id.uuid) AND state = 'cancelled'
                """
            #expect(try await fixture.count(outcomes) == Int64(3 * accepted))
        }
        try await fixture.checkInvariants()
    }
}

import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// One handler, one request and two schedulers, of which each may decide by what it read long ago:
/// random steps, with what must hold after each of them.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct LaunchModelTests {
    enum Step: CaseIterable {
        case submitOnce, submitRecurring, cancel, readFirst, readSecond, decideFirst, decideSecond
        case advance, accept, complete, forceQuit, launchClient, passBriefly, passLong
    }

    /// The steps, those more often that decisions about old readings are made of.
    private static let choices =
        Step.allCases + [
            .submitRecurring, .readFirst, .readSecond, .readSecond, .decideFirst, .decideSecond,
            .complete, .complete, .complete, .decideFirst, .decideSecond,
        ]
    private static let sequences = 60
    private static let steps = 40

    @Test(arguments: 0..<4)
    func keepsItsPromisesWhateverTheOrder(part: Int) async throws {
        let fixture = try await StoreFixture()
        var world = LaunchWorld(fixture)
        try await world.prepare()
        for sequence in 0..<Self.sequences {
            var random = SeededGenerator(state: UInt64(part * 1000 + sequence))
            var taken: [Step] = []
            for _ in 0..<Self.steps {
                guard let step = Self.choices.randomElement(using: &random) else { return }
                taken.append(step)
                try await world.take(step)
                let faults = try await world.faults()
                #expect(faults == [], "after \(taken), part \(part), sequence \(sequence)")
                guard faults.isEmpty else { return }
            }
            try await world.reset()
        }
    }
}

/// The store, what two schedulers have read of it, and what the client has been told.
private struct LaunchWorld {
    private static let task = BackgroundTaskIdentifier(stored: "task")
    private let fixture: StoreFixture
    private let clock: BackgroundClock
    private var reads: [[DueRequest]] = [[], []]
    /// Whether the last submission recurs; nil after its cancellation.
    private var recurs: Bool?
    /// The runs of the last submission when it was made.
    private var submission: BackgroundTaskRequestID?

    private var stores: Stores { fixture.stores }
    private var tenant: TenantID { fixture.tenant }

    init(_ fixture: StoreFixture) {
        self.fixture = fixture
        clock = BackgroundClock(fixture.stores, fixture.aside)
    }

    func prepare() async throws {
        var change = BackgroundSettingsChange()
        change.permittedIdentifiers = PermittedIdentifiers(stored: ["*"])
        _ = try await stores.tenants.changeBackgroundSettings(of: tenant, change)
        _ = try await stores.handlers.registerHandler(
            Self.task,
            kind: .processing,
            hasExpirationHandler: true,
            of: .default,
            tenant: tenant
        )
    }

    mutating func take(_ step: LaunchModelTests.Step) async throws {
        switch step {
        case .submitOnce: try await submit(nil)
        case .submitRecurring: try await submit(Recurrence(rule: .every(.seconds(900))))
        case .cancel:
            _ = try await stores.requests.cancelRequests(of: .default, tenant: tenant)
            (recurs, submission) = (nil, nil)
        case .readFirst: reads[0] = try await stores.timers.dueRequests()
        case .readSecond: reads[1] = try await stores.timers.dueRequests()
        case .decideFirst: try await decide(0)
        case .decideSecond: try await decide(1)
        case .advance: _ = try await stores.timers.advanceRuns()
        case .accept:
            if let run = try await openRun() {
                _ = try await stores.runs.acceptRun(run, of: tenant)
            }
        case .complete:
            if let run = try await openRun() {
                _ = try await stores.runs.completeRun(run, isSuccessful: true, of: tenant)
            }
        case .forceQuit: _ = try await stores.clients.forceQuit(tenant: tenant, id: .default)
        case .launchClient: _ = try await stores.clients.launch(tenant: tenant, id: .default)
        case .passBriefly: try await clock.move(35)
        case .passLong: try await clock.move(700)
        }
    }

    private mutating func submit(_ recurrence: Recurrence?) async throws {
        var request = BackgroundTaskRequest(identifier: Self.task)
        request.recurrence = recurrence
        let id = BackgroundTaskRequestID(.version7())
        let result = try await stores.requests.submitRequest(
            request,
            id,
            occurrence: recurrence.map { _ in Date.now },
            of: .default,
            tenant: tenant
        )
        if case .submitted = result { (recurs, submission) = (recurrence != nil, id) }
    }

    private func decide(_ scheduler: Int) async throws {
        _ = try await stores.timers.decide(
            reads[scheduler].map { ($0, LaunchDecision($0)) }
        )
    }

    private func openRun() async throws -> BackgroundTaskRunID? {
        try await stores.runs.runs(of: .default, tenant: tenant, before: nil, limit: 1)
            .first { !$0.state.isTerminal }?.id
    }

    /// Returns what does not hold that must.
    func faults() async throws -> [String] {
        let rows = try await fixture.aside.execute(
            """
            WITH runs AS (
                SELECT r.*, r.accepted_at IS NOT NULL AS is_taken,
                    row_number() OVER (PARTITION BY r.request_id ORDER BY r.launch_sequence) AS n
                FROM background_task_run r
            )
            SELECT 'two open runs' AS fault
            WHERE (SELECT count(*) FROM runs WHERE ended_at IS NULL) > 1
            UNION ALL
            SELECT 'a request without recurrence was taken up twice'
            WHERE EXISTS (
                SELECT 1 FROM runs r WHERE r.occurrence_at IS NULL AND r.is_taken
                GROUP BY r.request_id HAVING count(*) > 1)
            UNION ALL
            SELECT 'an occurrence was taken up twice'
            WHERE EXISTS (
                SELECT 1 FROM runs r WHERE r.occurrence_at IS NOT NULL AND r.is_taken
                GROUP BY r.request_id, r.occurrence_at HAVING count(*) > 1)
            UNION ALL
            SELECT 'it was launched again after it was taken up'
            WHERE EXISTS (
                SELECT 1 FROM runs a JOIN runs b ON b.request_id = a.request_id AND b.n > a.n
                WHERE a.occurrence_at IS NULL AND a.is_taken)
            UNION ALL
            SELECT 'a pending request that nobody will look at'
            WHERE EXISTS (
                SELECT 1 FROM background_task_request q
                WHERE q.due_at IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM timer t WHERE t.subject = q.id AND t.kind = 'request'))
            UNION ALL
            SELECT 'an open run that nobody will look at'
            WHERE EXISTS (
                SELECT 1 FROM runs r WHERE r.ended_at IS NULL AND NOT EXISTS (
                    SELECT 1 FROM timer t WHERE t.subject = r.id AND t.kind = 'run'))
            UNION ALL
            SELECT 'a timer of nothing'
            WHERE EXISTS (
                SELECT 1 FROM timer t WHERE t.kind <> 'client'
                    AND NOT EXISTS (
                        SELECT 1 FROM background_task_request q
                        WHERE q.id = t.subject AND q.due_at IS NOT NULL)
                    AND NOT EXISTS (
                        SELECT 1 FROM runs r WHERE r.id = t.subject AND r.ended_at IS NULL))
            UNION ALL
            SELECT 'a launched request that is neither pending nor running'
            WHERE EXISTS (
                SELECT 1 FROM background_task_request q
                WHERE q.due_at IS NULL AND NOT EXISTS (
                    SELECT 1 FROM runs r WHERE r.request_id = q.id AND r.ended_at IS NULL))
            UNION ALL
            SELECT 'a run without its event, or more than one'
            WHERE (SELECT count(*) FROM runs) <> (
                SELECT count(*) FROM event e WHERE e.kind = 'background_task.launch')
            UNION ALL
            SELECT 'a gap in the log'
            WHERE EXISTS (
                SELECT 1 FROM event e JOIN client c ON c.id = e.session_id
                GROUP BY e.session_id HAVING max(e.sequence) <> count(*))
            UNION ALL
            SELECT 'a run of a force-quit client'
            WHERE EXISTS (
                SELECT 1 FROM runs r JOIN client c ON c.id = r.client_id
                WHERE r.ended_at IS NULL AND c.lifecycle = 'force_quit')
            UNION ALL
            SELECT 'a request is lost'
            WHERE \(submission?.uuid)::uuid IS NOT NULL
                AND NOT EXISTS (
                    SELECT 1 FROM background_task_request q WHERE q.id = \(submission?.uuid))
                AND (\(recurs ?? false) OR NOT EXISTS (
                    SELECT 1 FROM runs r
                    WHERE r.request_id = \(submission?.uuid) AND r.is_taken))
            """
        )
        return try rows.map { try $0.decode("fault", as: String.self) }
    }

    mutating func reset() async throws {
        for statement: Query in [
            "DELETE FROM background_task_request", "DELETE FROM background_task_run",
            "DELETE FROM timer", "DELETE FROM event_run", "DELETE FROM delivery",
            "DELETE FROM session_progress WHERE session_id IN (SELECT id FROM client)",
            """
            UPDATE client SET
                lifecycle = 'active', grace_ends_at = NULL, assertions_end_at = NULL
            """,
            """
            UPDATE background_task_handler SET last_launched_at = NULL, launched_before_at = NULL
            """,
        ] { _ = try await fixture.aside.execute(statement) }
        (recurs, submission) = (nil, nil)
        reads = [[], []]
    }
}

import FaultProxy
import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What is due for clients, requests and runs, when its scheduler is lost while it does it.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct TimerLossTests {
    /// A step of a client's life, of an assertion, a request or a run.
    enum Moment: CaseIterable {
        case graceEnds, assertionsAreExpiring, assertionsLeak
        case requestIsDue, requestRecurs
        case runIsNotAccepted, runIsExpiring, runExpires, transfersHaveEnded

        /// The events of the client's log afterwards.
        var events: [SessionEvent.Kind] {
            switch self {
            case .graceEnds: [.clientLifecycleChanged, .clientLifecycleChanged]
            case .assertionsAreExpiring:
                [.clientLifecycleChanged, .assertionExpiring, .assertionExpiring]
            case .assertionsLeak:
                [
                    .clientLifecycleChanged, .assertionExpired, .assertionExpired,
                    .clientLifecycleChanged,
                ]
            case .requestIsDue, .requestRecurs, .transfersHaveEnded: [.backgroundTaskLaunch]
            case .runIsExpiring: [.backgroundTaskLaunch, .backgroundTaskExpiring]
            case .runIsNotAccepted, .runExpires: [.backgroundTaskLaunch, .backgroundTaskExpired]
            }
        }

        /// A table to which the step writes late.
        var table: Query {
            switch self {
            case .graceEnds, .assertionsAreExpiring, .assertionsLeak: "event"
            default: "background_task_run"
            }
        }

        /// The states of the client's runs afterwards.
        var runs: [BackgroundTaskRun.State] {
            switch self {
            case .graceEnds, .assertionsAreExpiring, .assertionsLeak: []
            case .requestIsDue, .requestRecurs: [.launched]
            case .runIsNotAccepted: [.notAccepted]
            case .runIsExpiring: [.running]
            case .runExpires: [.expired]
            case .transfersHaveEnded: [.failed]
            }
        }

        /// What the client's request waits for afterwards.
        var waits: [RequestWait.Reason] {
            switch self {
            case .requestRecurs: [.date]
            case .runIsNotAccepted: [.relaunch]
            default: []
            }
        }
    }

    private static let task = BackgroundTaskIdentifier(stored: "task")

    /// As after kill -9: the server ends the transaction of a connection that is gone.
    @Test(arguments: Moment.allCases)
    func aSchedulerThatDiesBeforeItsCommitHasDoneNothing(moment: Moment) async throws {
        let fixture = try await EngineFixture()
        try await prepare(moment, fixture)
        let before = try await events(fixture)
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("LOCK TABLE \(moment.table) IN SHARE MODE")
        let stores = Stores(Database(pool: TestDatabase.current.pool(connectionsMax: 1)))
        let turn = Task { try await Self.take(moment, stores) }
        let watcher = try await TestDatabase.current.connection()
        let schema = TestDatabase.current.schema
        try await eventually("it is in the middle of its transaction") {
            try await !watcher.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = \(schema) AND wait_event_type = 'Lock'
                """
            ).isEmpty
        }
        let result = await turn.result
        #expect(throws: (any Error).self) { try result.get() }
        _ = try await holder.execute("COMMIT")
        #expect(try await events(fixture) == before)
        try await expectOnce(moment, fixture)
    }

    /// The database had committed when its connection was lost.
    @Test(arguments: Moment.allCases)
    func aSchedulerWhoseAnswerIsLostDoesItOnce(moment: Moment) async throws {
        let fixture = try await EngineFixture()
        try await prepare(moment, fixture)
        let proxy = try await TestDatabase.current.proxy()
        defer { proxy.stop() }
        let stores = Stores(Database(pool: TestDatabase.current.pool(through: proxy.port)))
        await #expect(throws: (any Error).self) {
            try await Self.take(moment, stores) { proxy.cutAnswers() }
        }
        #expect(proxy.answersToCut == 0)
        #expect(try await events(fixture) == moment.events)
        try await expectOnce(moment, fixture)
    }

    /// Lets two schedulers look at the same moment, and expects that it was done once.
    private func expectOnce(_ moment: Moment, _ fixture: EngineFixture) async throws {
        async let first: Void = fixture.stores.advanceTimers()
        async let second: Void = fixture.stores.advanceTimers()
        _ = try await (first, second)
        try await fixture.stores.advanceTimers()
        #expect(try await events(fixture) == moment.events)
        let runs = try await fixture.stores.runs.runs(
            of: .default,
            tenant: fixture.tenant,
            before: nil,
            limit: 10
        )
        #expect(runs.map(\.state) == moment.runs)
        let pending = try await fixture.stores.requests.pendingRequests(
            of: .default,
            tenant: fixture.tenant
        )
        #expect(pending.map(\.wait.reason) == moment.waits)
    }

    private func events(_ fixture: EngineFixture) async throws -> [SessionEvent.Kind] {
        let client = try #require(
            try await fixture.stores.clients.client(tenant: fixture.tenant, id: .default)
        )
        return try await fixture.stores.events.events(of: client.log, after: 0, limit: 100)
            .map(\.kind)
    }

    /// Does the step alone, after `begin`.
    private static func take(
        _ moment: Moment,
        _ stores: Stores,
        begin: () -> Void = {}
    ) async throws {
        // The connection is open when it begins.
        let due = try await stores.timers.dueRequests()
        begin()
        switch moment {
        case .graceEnds, .assertionsAreExpiring, .assertionsLeak:
            _ = try await stores.timers.advanceClients()
        case .requestIsDue, .requestRecurs:
            _ = try await stores.timers.decide(due.map { ($0, LaunchDecision($0)) })
        case .runIsNotAccepted, .runIsExpiring, .runExpires, .transfersHaveEnded:
            _ = try await stores.timers.advanceRuns()
        }
    }

    /// Lets no deadline pass that is only to be announced, however late it is looked at.
    ///
    /// Whoever takes a timer finds the deadline three seconds ahead: it is put there within the
    /// transaction that judges it.
    private func keepDeadlinesAhead(_ connection: Connection) async throws {
        _ = try await connection.execute(
            """
            CREATE FUNCTION keep_ahead() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                UPDATE client
                SET assertions_end_at = greatest(assertions_end_at, now() + interval '3 s')
                WHERE id = new.subject;
                UPDATE background_task_run
                SET deadline_at = greatest(deadline_at, now() + interval '3 s')
                WHERE id = new.subject;
                RETURN NULL;
            END $$
            """
        )
        _ = try await connection.execute(
            """
            CREATE TRIGGER keep_ahead AFTER UPDATE OF fence ON timer
            FOR EACH ROW WHEN (new.fence IS NOT NULL) EXECUTE FUNCTION keep_ahead()
            """
        )
    }

    /// Makes the step due.
    private func prepare(_ moment: Moment, _ fixture: EngineFixture) async throws {
        let (stores, tenant) = (fixture.stores, fixture.tenant)
        let aside = try await TestDatabase.current.connection()
        let clock = BackgroundClock(stores, aside)
        if [.assertionsAreExpiring, .runIsExpiring].contains(moment) {
            try await keepDeadlinesAhead(aside)
        }
        switch moment {
        case .graceEnds, .assertionsAreExpiring, .assertionsLeak:
            for _ in 0..<(moment == .graceEnds ? 0 : 2) {
                _ = try await stores.assertions.beginAssertion(
                    AssertionID(.version7()),
                    named: "upload",
                    by: .default,
                    of: tenant
                )
            }
            _ = try await stores.clients.enterBackground(tenant: tenant, id: .default)
            let times: [Moment: Double] = [.graceEnds: 6, .assertionsAreExpiring: 27]
            try await clock.move(times[moment] ?? 31)
            return
        default: break
        }
        try await fixture.submitRequest(Self.task) {
            $0.completesWithTransfers = moment == .transfersHaveEnded
            if moment == .requestRecurs { $0.recurrence = Recurrence(rule: .every(.seconds(900))) }
        }
        if moment == .requestIsDue || moment == .requestRecurs { return }
        try await stores.advanceTimers()
        let run = try #require(
            try await stores.runs.runs(of: .default, tenant: tenant, before: nil, limit: 1).first
        )
        if moment != .runIsNotAccepted { _ = try await stores.runs.acceptRun(run.id, of: tenant) }
        if moment == .transfersHaveEnded {
            let task = try await fixture.submit(fixture.origin.url("/file"))
            _ = try await stores.runs.linkTransfers([task], to: run.id, of: tenant)
            _ = try await stores.control.cancelTask(tenant: tenant, id: task)
        }
        let times: [Moment: Double] = [
            .runIsNotAccepted: 61, .runIsExpiring: 597, .transfersHaveEnded: 2,
        ]
        try await clock.move(times[moment] ?? 601)
    }
}

extension EngineFixture {
    /// Permits and registers a handler for processing, and submits a request for it.
    func submitRequest(
        _ identifier: BackgroundTaskIdentifier,
        _ change: (inout BackgroundTaskRequest) -> Void = { _ in }
    ) async throws {
        var settings = BackgroundSettingsChange()
        settings.permittedIdentifiers = PermittedIdentifiers(stored: ["*"])
        _ = try await stores.tenants.changeBackgroundSettings(of: tenant, settings)
        _ = try await stores.handlers.registerHandler(
            identifier,
            kind: .processing,
            hasExpirationHandler: true,
            of: .default,
            tenant: tenant
        )
        var request = BackgroundTaskRequest(identifier: identifier)
        change(&request)
        let result = try await stores.requests.submitRequest(
            request,
            BackgroundTaskRequestID(.version7()),
            occurrence: request.recurrence.flatMap { $0.first(earliest: nil, now: .now) },
            of: .default,
            tenant: tenant
        )
        guard case .submitted = result else { throw CancellationError() }
    }
}

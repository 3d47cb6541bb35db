import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Answers that many tasks wait for.
@Suite(.postgresSchema) struct AnswerTests {
    private static let origin = Origin(scheme: "https", host: "origin.test", port: 443)
    private static let given = CredentialAnswer.given(
        .bearer,
        Credential.Secrets(main: Secret("a"))
    )
    /// More than two pages of them.
    private static let many = 2 * AnswerStore.continuedMax + 200

    /// Submits tasks, all of which are then refused by the origin.
    private func refused(
        _ fixture: StoreFixture,
        _ count: Int = 1,
        credential: String? = nil
    ) async throws -> [TaskID] {
        var ids: [TaskID] = []
        while ids.count < count {
            let part = min(count - ids.count, SubmissionStore.submissionMax)
            ids += try await fixture.submit(part) { task, _ in
                task.options.credential = credential
            }
        }
        try await ask(fixture, credential: credential)
        return ids
    }

    private func ask(_ fixture: StoreFixture, credential: String? = nil) async throws {
        while case let claims = try await fixture.claim(500), !claims.isEmpty {
            try await fixture.end(claims, Self.question(credential))
        }
    }

    /// The end of an attempt that was to show the credential of that name, and is refused.
    private static func question(_ credential: String?) -> AttemptOutcome {
        .askForCredential(StoreFixture.failure, origin, named: credential, within: .seconds(600))
    }

    private func put(_ name: String, _ fixture: StoreFixture) async throws {
        _ = try await fixture.stores.credentials.putCredential(
            tenant: fixture.tenant,
            name: name,
            form: .bearer,
            origins: [],
            secrets: Credential.Secrets(main: Secret("a"))
        )
    }

    private func answer(_ id: TaskID, _ fixture: StoreFixture) async throws -> TransferTask {
        let result = try await fixture.stores.questions.answerChallenge(
            tenant: fixture.tenant,
            id: id,
            with: Self.given
        )
        guard case .answered(let task) = result else { throw CancellationError() }
        return task
    }

    private func asked(_ fixture: StoreFixture) async throws -> Int64 {
        try await fixture.count("SELECT count(*) AS count FROM asked")
    }

    /// Carries out what is left of all answers.
    ///
    /// - Returns: how many tasks each call has let continue.
    private func continued(_ fixture: StoreFixture) async throws -> [Int] {
        var counts: [Int] = []
        repeat {
            counts.append(try await fixture.stores.answers.continueAnswered())
        } while counts.last != 0
        return counts
    }

    /// The task itself continues with its answer, even where it would be on no page of the others.
    @Test func anAnswerReachesAnyNumberOfTasksInPages() async throws {
        let fixture = try await StoreFixture()
        let ids = try await refused(fixture, Self.many)
        #expect(try await answer(ids[Self.many - 1], fixture).state == .queued)
        #expect(try await asked(fixture) == Int64(Self.many - 1 - AnswerStore.continuedMax))
        #expect(try await continued(fixture) == [AnswerStore.continuedMax, 199, 0])
        #expect(try await asked(fixture) == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM answer") == 0)
        #expect(try await fixture.events().count { $0.kind == .taskResumed } == Self.many)
        try await fixture.checkInvariants()
    }

    @Test func aChangedCredentialReachesAnyNumberOfTasksInPages() async throws {
        let fixture = try await StoreFixture()
        _ = try await refused(fixture, Self.many, credential: "api")
        try await put("other", fixture)
        #expect(try await asked(fixture) == Int64(Self.many))
        try await put("api", fixture)
        #expect(try await continued(fixture) == [AnswerStore.continuedMax, 200, 0])
        #expect(try await fixture.count("SELECT count(*) AS count FROM answer") == 0)
        try await fixture.checkInvariants()
    }

    /// It has tasks of many sessions, and cancellations lock these in the same order.
    @Test func aChangedCredentialLocksTheCountersBeforeTheQuestions() async throws {
        let fixture = try await StoreFixture()
        let id = try await refused(fixture, credential: "api")[0]
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT FROM session_progress FOR UPDATE")
        async let changed: Void = put("api", fixture)
        try await fixture.eventuallyWaits(for: holder)
        #expect(try await fixture.countOfUnlocked("asked") == 1)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        try await changed
        _ = try await continued(fixture)
        #expect(try await fixture.state(id) == .queued)
        try await fixture.checkInvariants()
    }

    /// A credential belongs to its tenant, whatever others call theirs.
    @Test func anAnswerIsForNoOtherTenant() async throws {
        let fixture = try await StoreFixture()
        let id = try await refused(fixture, credential: "api")[0]
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
        _ = try await fixture.stores.credentials.putCredential(
            tenant: other,
            name: "api",
            form: .bearer,
            origins: [],
            secrets: Credential.Secrets(main: Secret("a"))
        )
        #expect(try await continued(fixture) == [0])
        #expect(try await fixture.state(id) == .waitingForAuthentication)
    }

    /// What was refused with the answer itself is a new question.
    @Test(arguments: [nil, "api"])
    func whoAsksAfterAnAnswerWaitsForTheNext(credential: String?) async throws {
        let fixture = try await StoreFixture()
        let ids = try await refused(fixture, Self.many, credential: credential)
        try await give(credential, ids[0], fixture)
        let first = try await fixture.claim(10)
        try await fixture.end(first, Self.question(credential))
        _ = try await continued(fixture)
        #expect(try await asked(fixture) == 10)
        try await give(credential, first[0].task, fixture)
        #expect(try await asked(fixture) == 0)
        try await fixture.checkInvariants()
    }

    /// The pages may take longer than the rest of the time to answer.
    @Test(arguments: [nil, "api"])
    func whatIsAnsweredInTimeDoesNotFailBeforeItContinues(credential: String?) async throws {
        let fixture = try await StoreFixture()
        let ids = try await refused(fixture, Self.many, credential: credential)
        if let credential {
            try await put(credential, fixture)
        } else {
            _ = try await answer(ids[0], fixture)
        }
        let left = try await asked(fixture)
        #expect(left > 0)
        _ = try await fixture.aside.execute("UPDATE asked SET until = now()")
        #expect(try await fixture.stores.questions.failUnanswered() == QuestionStore.unansweredMax)
        #expect(try await asked(fixture) == left - Int64(QuestionStore.unansweredMax))
        #expect(try await fixture.events().count { $0.kind == .taskFailed } == 0)
        _ = try await continued(fixture)
        #expect(try await fixture.events().count { $0.kind == .taskResumed } == Self.many)
        try await fixture.checkInvariants()
    }

    /// Holds up the commits of transactions that do something to a table, until the connection is
    /// closed.
    private func holdUp(_ change: String, _ fixture: StoreFixture) async throws -> Connection {
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("SELECT pg_advisory_lock(7, hashtext(current_schema()))")
        try await fixture.aside.executeScript(
            """
            CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_advisory_xact_lock_shared(7, hashtext(current_schema()));
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER hold_up AFTER \(change)
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold_up();
            """
        )
        return holder
    }

    /// A change that is not committed yet is waited for, since it does not see the question.
    @Test func aQuestionBesideAChangeOfItsCredentialIsAnswered() async throws {
        let fixture = try await StoreFixture()
        try await put("api", fixture)
        let ids = try await fixture.submit { task, _ in task.options.credential = "api" }
        let claims = try await fixture.claim()
        let holder = try await holdUp("UPDATE ON credential", fixture)
        async let change: Void = put("api", fixture)
        try await fixture.eventuallyWaits(for: holder)
        async let end = fixture.end(claims, Self.question("api"))
        try await untilTheQuestionWaits(for: holder, fixture)
        await holder.close()
        try await change
        #expect(try await end == Set(ids))
        #expect(try await fixture.state(ids[0]) == .queued)
        try await fixture.checkInvariants()
    }

    /// Waits until a question waits for a change, whose commit waits for `holder`.
    private func untilTheQuestionWaits(
        for holder: Connection,
        _ fixture: StoreFixture
    ) async throws {
        let pid: Int32 = try await holder.execute("SELECT pg_backend_pid() AS pid")[0].decode("pid")
        try await eventually("the question waits for the change") {
            try await fixture.count(
                """
                SELECT count(*) AS count FROM pg_locks question JOIN pg_locks change
                    ON change.pid = ANY (pg_blocking_pids(question.pid))
                WHERE NOT question.granted AND NOT change.granted
                    AND \(pid) = ANY (pg_blocking_pids(change.pid))
                """
            ) > 0
        }
    }

    /// A change of a session that is not committed yet is waited for, since it looks for no
    /// questions.
    @Test func aQuestionBesideAChangeOfItsSessionIsAnswered() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claims = try await fixture.claim()
        let session = try await fixture.session()
        let holder = try await holdUp("UPDATE ON session", fixture)
        async let change = fixture.stores.sessions.changeSession(session, to: Self.configuration)
        try await fixture.eventuallyWaits(for: holder)
        async let end = fixture.end(claims, Self.question(nil))
        try await untilTheQuestionWaits(for: holder, fixture)
        await holder.close()
        #expect(try await change)
        #expect(try await end == [id])
        #expect(try await fixture.state(id) == .queued)
        try await fixture.checkInvariants()
    }

    /// The configuration of a session whose tasks show the credential "api".
    private static var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.options.credential = "api"
        return configuration
    }

    private func name(_ credential: String, for id: TaskID, _ fixture: StoreFixture) async throws {
        var change = TaskChange()
        change.credential = .some(credential)
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
    }

    @Test(arguments: [nil, "former"])
    func anotherCredentialThatIsNamedDuringTheAttemptIsAnAnswer(former: String?) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit { task, _ in task.options.credential = former }[0]
        let claims = try await fixture.claim()
        if former == nil {
            let session = try await fixture.session()
            #expect(
                try await fixture.stores.sessions.changeSession(session, to: Self.configuration)
            )
        } else {
            try await name("api", for: id, fixture)
        }
        try await fixture.end(claims, Self.question(former))
        #expect(try await fixture.state(id) == .queued)
        let again = try await fixture.claim()
        #expect(again.map(\.options.credential) == ["api"])
        try await fixture.end(again, Self.question("api"))
        #expect(try await fixture.state(id) == .waitingForAuthentication)
        try await fixture.checkInvariants()
    }

    /// Neither the task nor its events forget it, whatever the client says.
    @Test(arguments: [TransferState.queued, .failed, .cancelled])
    func whatHasArrivedStaysKnown(state: TransferState) async throws {
        let fixture = try await StoreFixture()
        let (questions, tenant) = (fixture.stores.questions, fixture.tenant)
        let id = try await fixture.submit()[0]
        try await fixture.end(try await fixture.claim()[0], Self.question(nil), leaving: 600)
        switch state {
        case .queued: _ = try await answer(id, fixture)
        case .failed: _ = try await questions.refuseChallenge(tenant: tenant, id: id)
        default:
            _ = try await questions.cancelTask(
                tenant: tenant,
                id: id,
                ifAskingIn: .waitingForAuthentication
            )
        }
        let task = try await fixture.task(id)
        #expect(task.state == state)
        #expect(task.bytesReceived == 600)
        let received = try await fixture.events().compactMap { $0.task?.bytesReceived }
        #expect(received.last == 600)
        try await fixture.checkInvariants()
    }

    /// The attempt did not see the credential, which was being stored when it began.
    @Test(arguments: [nil, "api"])
    func aQuestionOfAnAttemptThatBeganBesideTheAnswerIsAnswered(credential: String?) async throws {
        let fixture = try await StoreFixture()
        let first = try await refused(fixture, credential: credential)[0]
        let second = try await fixture.submit { task, _ in task.options.credential = credential }[0]
        let holder = try await holdUp("INSERT ON answer", fixture)
        async let answered: Void = give(credential, first, fixture)
        try await fixture.eventuallyWaits(for: holder)
        let claims = try await fixture.claim()
        #expect(claims.map(\.task) == [second])
        await holder.close()
        try await answered
        try await fixture.end(claims, Self.question(credential))
        #expect(try await fixture.states([first, second]) == [.queued, .queued])
        try await fixture.checkInvariants()
    }

    private func give(_ name: String?, _ id: TaskID, _ fixture: StoreFixture) async throws {
        if let name {
            try await put(name, fixture)
        } else {
            _ = try await answer(id, fixture)
        }
    }

    @Test func anAnswerWhoseCredentialWasDeletedCountsAsNone() async throws {
        let fixture = try await StoreFixture()
        let credentials = fixture.stores.credentials
        try await put("api", fixture)
        let id = try await fixture.submit { task, _ in task.options.credential = "api" }[0]
        try await ask(fixture, credential: "api")
        let named = try #require(
            try await credentials.credential(tenant: fixture.tenant, name: "api")
        )
        _ = try await fixture.stores.questions.answerChallenge(
            tenant: fixture.tenant,
            id: id,
            with: .named(named.id)
        )
        let claim = try #require(try await fixture.claim().first)
        let query = CredentialQuery(claim: claim, origin: Self.origin)
        #expect(try await credentials.credentials(for: [query]).count == 1)
        #expect(try await credentials.deleteCredential(tenant: fixture.tenant, name: "api"))
        #expect(try await credentials.credentials(for: [query]).isEmpty)
        try await put("api", fixture)
        #expect(try await credentials.credentials(for: [query]).count == 1)
    }

    /// It would be shown in place of the credential that is named since, whenever that was.
    @Test(arguments: [false, true])
    func anAnswerThatIsForgottenLeavesNoSecret(isDuringTheAttempt: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await refused(fixture)[0]
        _ = try await answer(id, fixture)
        let claims = try await fixture.claim()
        if isDuringTheAttempt { try await name("api", for: id, fixture) }
        try await fixture.end(claims, Self.question(nil))
        if !isDuringTheAttempt { try await name("api", for: id, fixture) }
        #expect(try await fixture.state(id) == .queued)
        #expect(try await fixture.count("SELECT count(*) AS count FROM credential") == 0)
    }

    @Test func anAnswerThatIsForgottenLeavesTheCredentialThatItNamed() async throws {
        let fixture = try await StoreFixture()
        let (credentials, tenant) = (fixture.stores.credentials, fixture.tenant)
        try await put("former", fixture)
        let former = try #require(try await credentials.credential(tenant: tenant, name: "former"))
        let id = try await refused(fixture)[0]
        _ = try await fixture.stores.questions.answerChallenge(
            tenant: tenant,
            id: id,
            with: .named(former.id)
        )
        try await ask(fixture)
        try await name("api", for: id, fixture)
        let answers: Query = "SELECT count(*) AS count FROM session_credential"
        #expect(try await fixture.count(answers) == 0)
        #expect(try await credentials.credential(tenant: tenant, name: "former") != nil)
    }
}

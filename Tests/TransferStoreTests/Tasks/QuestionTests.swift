import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Tasks that ask their clients before they start.
@Suite(.postgresSchema) struct QuestionTests {
    /// Makes a task whose time is about to come, and returns when it has come.
    private func asked(
        _ fixture: StoreFixture,
        _ change: (inout TaskSubmission) -> Void = { $0.options.asksToBegin = true }
    ) async throws -> TaskID {
        let ids = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = Date().addingTimeInterval(3600)
            change(&submission)
        }
        try await makeDue(fixture)
        return ids[0]
    }

    private func makeDue(_ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            "UPDATE delayed SET due_at = now() - interval '1 s' WHERE due_at > now()"
        )
        _ = try await fixture.stores.queue.promoteDue()
    }

    private func kinds(_ fixture: StoreFixture) async throws -> [SessionEvent.Kind] {
        let session = try await fixture.session()
        return try await fixture.stores.events.events(of: session.id, after: 0, limit: 100).map(
            \.kind
        )
    }

    @Test func aTaskAsksWhenItsTimeHasComeAndBeginsOnceItIsAnswered() async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        let waiting = try await fixture.task(id)
        #expect(waiting.state == .waitingToBegin)
        #expect(try #require(waiting.waitsUntil) > Date().addingTimeInterval(6 * 24 * 3600))
        #expect(waiting.failure == nil)
        #expect(try await fixture.claim().isEmpty)
        try await fixture.checkInvariants()
        let answer = try await fixture.stores.questions.beginTask(
            tenant: fixture.tenant,
            id: id,
            with: nil
        )
        guard case .answered(let task) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(task.state == .queued)
        #expect(
            try await kinds(fixture) == [
                .taskCreated, .taskWillBegin, .sessionEventsPending, .taskResumed,
            ]
        )
        try await fixture.complete(try await fixture.claim())
        try await fixture.checkInvariants()
    }

    @Test func theSessionAsksForItsTasksUnlessOneDoesNotWant() async throws {
        let fixture = try await StoreFixture()
        var configuration = SessionConfiguration()
        configuration.options.asksToBegin = true
        try await fixture.putSession(StoreFixture.identifier, configuration)
        let asking = try await asked(fixture) { _ in }
        let silent = try await asked(fixture) { $0.options.asksToBegin = false }
        #expect(try await fixture.states([asking, silent]) == [.waitingToBegin, .queued])
    }

    @Test func aResumedOrPostponedTaskStillAsks() async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture) {
            $0.options.asksToBegin = true
            $0.autostart = false
        }
        _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
        #expect(try await fixture.state(id) == .scheduled)
        try await makeDue(fixture)
        #expect(try await fixture.state(id) == .waitingToBegin)
        var change = TaskChange()
        change.earliestBeginAt = .some(Date().addingTimeInterval(7200))
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
        #expect(try await fixture.state(id) == .scheduled)
        try await fixture.checkInvariants()
        try await makeDue(fixture)
        #expect(try await fixture.state(id) == .waitingToBegin)
    }

    @Test func anotherRequestTakesThePlaceOfTheFirst() async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        let hostKey = HostKey(host: "elsewhere.test", port: 443)
        let request = NewRequest(
            url: "https://elsewhere.test/b",
            hostKey: hostKey,
            headers: [HTTPHeader(name: "X-New", value: "1")]
        )
        _ = try await fixture.stores.questions.beginTask(
            tenant: fixture.tenant,
            id: id,
            with: request
        )
        let claim = try #require(try await fixture.claim().first)
        #expect(claim.url == "https://elsewhere.test/b")
        #expect(claim.hostKey == hostKey)
        #expect(claim.headers == request.headers)
    }

    /// What attempts have left belongs to the URL of the request that they made.
    @Test(arguments: [true, false])
    func onlyAnotherRequestStartsOver(isAnother: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit(1) { submission, _ in
            submission.options.asksToBegin = true
        }[0]
        let claim = try #require(try await fixture.claim().first)
        let resource = UploadResource(
            fence: claim.fence,
            dialect: .ietf,
            url: "https://origin.test/place",
            isAtOrigin: true,
            body: "1"
        )
        #expect(try await fixture.stores.uploadResources.keep(resource, of: claim))
        try await fixture.end(
            claim,
            .retry(StoreFixture.failure, after: .seconds(3600)),
            leaving: 600
        )
        let control = fixture.stores.control
        _ = try await control.suspendTask(tenant: fixture.tenant, id: id)
        var change = TaskChange()
        change.earliestBeginAt = .some(Date().addingTimeInterval(3600))
        _ = try await control.changeTask(tenant: fixture.tenant, id: id, change)
        _ = try await control.resumeTask(tenant: fixture.tenant, id: id)
        try await makeDue(fixture)
        #expect(try await fixture.state(id) == .waitingToBegin)
        #expect(try await fixture.task(id).bytesReceived == 600)

        let url = "https://origin.test/b"
        let request = NewRequest(url: url, hostKey: StoreFixture.hostKey, headers: [])
        _ = try await fixture.stores.questions.beginTask(
            tenant: fixture.tenant,
            id: id,
            with: isAnother ? request : nil
        )
        let task = try await fixture.task(id)
        #expect(task.state == .queued)
        #expect(task.bytesReceived == (isAnother ? 0 : 600))
        #expect(task.bytesExpected == (isAnother ? nil : 1000))
        let resumed = try await fixture.events().last { $0.kind == .taskResumed }
        #expect(resumed?.task?.bytesReceived == task.bytesReceived)
        let abandoned = try await fixture.stores.parts.abandonedParts().map(\.fence)
        #expect(abandoned == (isAnother ? [claim.fence] : []))
        try await fixture.checkInvariants()
        let next = try #require(try await fixture.claim().first)
        #expect(next.partial?.partFence == (isAnother ? nil : claim.fence))
        let found = try await fixture.stores.uploadResources.resources(of: [next]).first
        #expect(found?.uploadResource == (isAnother ? nil : resource))
        try await fixture.checkInvariants()
    }

    @Test func anAnswerCountsOnceAndOnlyForATaskThatAsks() async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        let results = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let result = try await fixture.stores.questions.beginTask(
                        tenant: fixture.tenant,
                        id: id,
                        with: nil
                    )
                    guard case .answered = result else { return false }
                    return true
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(results == 1)
        #expect(try await fixture.claim().count == 1)
        let stranger = TenantID(UUID())
        let foreign = try await fixture.stores.questions.beginTask(
            tenant: stranger,
            id: id,
            with: nil
        )
        guard case .unknownTask = foreign else {
            Issue.record("\(foreign)")
            return
        }
        try await fixture.checkInvariants()
    }

    @Test func aTaskThatNobodyAnswersFailsInTheEnd() async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        #expect(try await fixture.stores.questions.failUnanswered() == 0)
        _ = try await fixture.aside.execute("UPDATE asked SET until = now()")
        // Nor when only the database's clock says that its time is over.
        let early = Date() - 3600
        #expect(try await fixture.stores.questions.failUnanswered(notAfter: early) == 0)
        #expect(try await fixture.stores.questions.failUnanswered() == 1)
        let task = try await fixture.task(id)
        #expect(task.state == .failed)
        #expect(task.failure?.code == .timedOut)
        #expect(task.failure?.isRetryable == false)
        #expect(
            try await kinds(fixture)
                == [
                    .taskCreated, .taskWillBegin, .sessionEventsPending, .taskFailed,
                    .sessionEventsFinished,
                ]
        )
        try await fixture.checkInvariants()
    }

    @Test(arguments: [true, false])
    func anAskingTaskIsSuspendedAndCancelledAsAnyOther(isCancelled: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        let task =
            isCancelled
            ? try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            : try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id).task
        #expect(task?.state == (isCancelled ? .cancelled : .suspended))
        #expect(try await fixture.count("SELECT count(*) AS count FROM asked") == 0)
        try await fixture.checkInvariants()
    }

    @Test func aCancellationThatAnswersTakesOnlyWhatAsksThat() async throws {
        let fixture = try await StoreFixture()
        func cancel(_ id: TaskID, _ state: TransferState) async throws -> TransferState? {
            let result = try await fixture.stores.questions.cancelTask(
                tenant: fixture.tenant,
                id: id,
                ifAskingIn: state
            )
            guard case .answered(let task) = result else { return nil }
            return task.state
        }
        let asking = try await asked(fixture)
        #expect(try await cancel(asking, .waitingForAuthentication) == nil)
        #expect(try await cancel(asking, .waitingToBegin) == .cancelled)
        #expect(try await cancel(asking, .waitingToBegin) == nil)
        let answered = try await asked(fixture)
        _ = try await fixture.stores.questions.beginTask(
            tenant: fixture.tenant,
            id: answered,
            with: nil
        )
        #expect(try await cancel(answered, .waitingToBegin) == nil)
        #expect(try await fixture.state(answered) == .queued)
        let origin = Origin(scheme: "https", host: "origin.test", port: 443)
        try await fixture.end(
            try await fixture.claim(),
            .askForCredential(StoreFixture.failure, origin, named: nil, within: .seconds(60))
        )
        #expect(try await cancel(answered, .waitingToBegin) == nil)
        #expect(try await cancel(answered, .waitingForAuthentication) == .cancelled)
        try await fixture.checkInvariants()
    }

    /// Whoever answers a question, or fails what is left unanswered, or controls a task that asks
    /// locks the counters of the session before it.
    ///
    /// This is no order for all that changes a task: running ones are cancelled and suspended by
    /// way of their attempts, which are locked before the counters.
    @Test(arguments: ["begin", "cancel", "answer", "refuse", "leave", "cancelTask", "suspendTask"])
    func theCountersAreLockedBeforeAQuestion(verb: String) async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        if ["answer", "refuse"].contains(verb) {
            _ = try await Self.answer("begin", id, fixture)
            let origin = Origin(scheme: "https", host: "origin.test", port: 443)
            try await fixture.end(
                try await fixture.claim(),
                .askForCredential(StoreFixture.failure, origin, named: nil, within: .seconds(600))
            )
        }
        if verb == "leave" { _ = try await fixture.aside.execute("UPDATE asked SET until = now()") }
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT FROM session_progress FOR UPDATE")
        async let answered = Self.answer(verb, id, fixture)
        try await fixture.eventuallyWaits(for: holder)
        #expect(try await fixture.countOfUnlocked("asked") == 1)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        guard case .answered = try await answered else {
            Issue.record("nothing was answered")
            return
        }
        try await fixture.checkInvariants()
    }

    private static func answer(
        _ verb: String,
        _ id: TaskID,
        _ fixture: StoreFixture
    ) async throws -> AnswerResult {
        let (questions, tenant) = (fixture.stores.questions, fixture.tenant)
        switch verb {
        case "begin": return try await questions.beginTask(tenant: tenant, id: id, with: nil)
        case "cancel":
            let state = TransferState.waitingToBegin
            return try await questions.cancelTask(tenant: tenant, id: id, ifAskingIn: state)
        case "leave":
            #expect(try await questions.failUnanswered() == 1)
            return .answered(try await fixture.task(id))
        case "answer":
            let secrets = Credential.Secrets(main: Secret("a"))
            let given = CredentialAnswer.given(.bearer, secrets)
            return try await questions.answerChallenge(tenant: tenant, id: id, with: given)
        case "cancelTask", "suspendTask":
            let control = fixture.stores.control
            let task =
                verb == "cancelTask"
                ? try await control.cancelTask(tenant: tenant, id: id)
                : try await control.suspendTask(tenant: tenant, id: id).task
            return task.map { AnswerResult.answered($0) } ?? .unknownTask
        default: return try await questions.refuseChallenge(tenant: tenant, id: id)
        }
    }

    @Test func aSessionThatEndsTakesItsAskingTasksAlong() async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        #expect(try await fixture.count("SELECT count(*) AS count FROM asked") == 0)
        #expect(try await fixture.state(id) == .cancelled)
        try await fixture.checkInvariants()
    }

    /// As when the instance that started to end the session has died.
    @Test func whatWasAnsweredForASessionGoesWithItWhoeverEndsIt() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let origin = Origin(scheme: "https", host: "origin.test", port: 443)
        try await fixture.end(
            try await fixture.claim(),
            .askForCredential(StoreFixture.failure, origin, named: nil, within: .seconds(60))
        )
        let secrets = Credential.Secrets(main: Secret("a"))
        let answer = CredentialAnswer.given(.bearer, secrets)
        _ = try await fixture.stores.questions.answerChallenge(
            tenant: fixture.tenant,
            id: id,
            with: answer
        )
        let kept: Query = """
            SELECT (SELECT count(*) FROM credential) + (SELECT count(*) FROM session_credential)
                AS count
            """
        #expect(try await fixture.count(kept) == 2)
        _ = try await fixture.aside.execute([
            "UPDATE session SET invalidated_at = now()",
            "UPDATE session_progress SET is_invalidated = true",
            """
            INSERT INTO cancellation (session_id, tenant_id) SELECT id, tenant_id FROM session
            """,
        ])
        try await fixture.stores.cancellations.continueCancellations()
        #expect(try await fixture.count(kept) == 0)
        #expect(try await fixture.state(id) == .cancelled)
        try await fixture.checkInvariants()
    }

    @Test func tasksAreListedByWhatTheyWaitFor() async throws {
        let fixture = try await StoreFixture()
        let id = try await asked(fixture)
        func listed(_ state: TransferState) async throws -> [TaskID]? {
            try await fixture.stores.taskLists.tasks(
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier,
                filter: TaskFilter(states: [state]),
                after: nil,
                limit: 10
            )?.tasks.map(\.id)
        }
        #expect(try await listed(.waitingToBegin) == [id])
        #expect(try await listed(.waitingForAuthentication) == [])
        #expect(try await listed(.scheduled) == [])
    }
}

import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What follows a launch that nobody has accepted.
@Suite(.postgresSchema) struct RelaunchTests {
    private static let task = BackgroundTaskIdentifier(stored: "clean")
    private static let week: Duration = .seconds(604_800)

    @Test(arguments: Recurrence.MissedPolicy.allCases)
    func theSameOccurrenceIsRepeatedAfterLongerAndLongerPauses(
        missed: Recurrence.MissedPolicy
    ) async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await register(fixture)
        // Others come before each pause is over.
        try await submitRecurring(missed, fixture)
        try await fixture.stores.advanceTimers()
        for (number, pause) in [30.0, 60, 120].enumerated() {
            try await clock.pass(61)
            let ended = try await runs(fixture)
            #expect(ended.map(\.state) == Array(repeating: .notAccepted, count: number + 1))
            let pending = try #require(try await pendingWait(fixture))
            #expect(pending.reason == .relaunch)
            let endedAt = try #require(ended.first?.endedAt)
            let measured = try #require(pending.until).timeIntervalSince(endedAt)
            #expect(abs(measured - pause) < 0.001)
            try await clock.pass(pause + 1)
            let states = try await runs(fixture).map(\.state)
            #expect(states.first == .launched)
            #expect(states.count == number + 2)
        }
        let occurrences = try await runs(fixture).map(\.occurrenceAt)
        #expect(Set(occurrences).count == 1)
    }

    @Test func allOthersFollowTheRepeatedOneInTheirOrder() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await register(fixture)
        try await submitRecurring(.all, fixture)
        try await fixture.stores.advanceTimers()
        try await clock.pass(61)
        try await clock.pass(31)
        for _ in 0..<2 {
            try await complete(fixture)
            try await fixture.stores.advanceTimers()
        }
        let history = try await runs(fixture)
        #expect(history.map(\.state) == [.launched, .succeeded, .succeeded, .notAccepted])
        let occurrences = try history.map { try #require($0.occurrenceAt) }
        let steps = zip(occurrences, occurrences.dropFirst()).map { later, earlier in
            later.timeIntervalSince(earlier).rounded()
        }
        #expect(steps == [10, 10, 0])
    }

    @Test func pausesBeginAgainAfterALaunchThatSomebodyAccepted() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await register(fixture)
        try await submitRecurring(.once, fixture)
        try await fixture.stores.advanceTimers()
        for pause in [31.0, 61] {
            try await clock.pass(61)
            try await clock.pass(pause)
        }
        try await complete(fixture)
        try await clock.pass(11)
        #expect(try await runs(fixture).first?.state == .launched)
        try await clock.pass(61)
        let endedAt = try #require(try await runs(fixture).first?.endedAt)
        let until = try #require(try await pendingWait(fixture)?.until)
        #expect(abs(until.timeIntervalSince(endedAt) - 30) < 0.001)
    }

    @Test func aForceQuitBeforeItsAcceptanceLosesNoOccurrence() async throws {
        let fixture = try await StoreFixture()
        try await register(fixture)
        try await submit(fixture) {
            $0.recurrence = Recurrence(rule: .every(Self.week), missed: .once)
        }
        try await fixture.stores.advanceTimers()
        let clients = fixture.stores.clients
        _ = try await clients.forceQuit(tenant: fixture.tenant, id: .default)
        _ = try await clients.launch(tenant: fixture.tenant, id: .default)
        try await fixture.stores.advanceTimers()
        let history = try await runs(fixture)
        #expect(history.count == 2)
        #expect(history.first?.state == .launched)
        #expect(Set(history.map(\.occurrenceAt)).count == 1)
    }

    /// By a scheduler that had seen the run open, and the next occurrence late.
    @Test func aDecisionFromBeforeThePauseDoesNotEndIt() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await register(fixture)
        try await submitRecurring(.skip, fixture)
        try await fixture.stores.advanceTimers()
        try await clock.move(75)
        let timers = fixture.stores.timers
        let due = try await timers.dueRequests()
        #expect(due.count == 1)
        #expect(try await timers.advanceRuns() == 1)
        let taken = try await timers.decide(due.map { ($0, LaunchDecision($0)) })
        #expect(taken == 0)
        #expect(try await pendingWait(fixture)?.reason == .relaunch)
    }

    @Test func itDoesNotHoldUpARequestThatWasSubmittedSince() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await register(fixture)
        try await submit(fixture) { $0.minInterval = Self.week }
        try await fixture.stores.advanceTimers()
        try await submit(fixture) { $0.minInterval = Self.week }
        #expect(try await pendingWait(fixture)?.reason == .interval)
        try await clock.pass(61)
        #expect(try await runs(fixture).map(\.state) == [.launched, .notAccepted])
    }

    @Test func suchARequestStillHasItsEarliestBegin() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await register(fixture)
        try await submit(fixture) { $0.minInterval = Self.week }
        try await fixture.stores.advanceTimers()
        try await submit(fixture) {
            $0.minInterval = Self.week
            $0.earliestBeginAt = Date.now + 7200
        }
        try await clock.pass(61)
        #expect(try await runs(fixture).map(\.state) == [.notAccepted])
        #expect(try await pendingWait(fixture)?.reason == .date)
        try await clock.pass(7200)
        #expect(try await runs(fixture).map(\.state) == [.launched, .notAccepted])
    }

    @Test func suchARequestStillWaitsForTheIntervalOfAnEarlierLaunch() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await register(fixture)
        try await submit(fixture)
        try await fixture.stores.advanceTimers()
        try await complete(fixture)
        try await clock.move(3600)
        try await submit(fixture)
        try await fixture.stores.advanceTimers()
        try await submit(fixture) { $0.minInterval = Self.week }
        try await clock.pass(61)
        let history = try await runs(fixture)
        #expect(history.map(\.state) == [.notAccepted, .succeeded])
        let pending = try #require(try await pendingWait(fixture))
        #expect(pending.reason == .interval)
        let taken = try #require(history.last)
        let measured = try #require(pending.until).timeIntervalSince(taken.launchedAt)
        #expect(abs(measured - Self.week / .seconds(1)) < 0.001)
    }

    /// Registers a handler of the default client, whose runs have time for longer than a launch
    /// waits for its acceptance.
    private func register(_ fixture: StoreFixture) async throws {
        var change = BackgroundSettingsChange()
        change.permittedIdentifiers = PermittedIdentifiers(stored: ["*"])
        _ = try await fixture.stores.tenants.changeBackgroundSettings(of: fixture.tenant, change)
        _ = try await fixture.stores.handlers.registerHandler(
            Self.task,
            kind: .processing,
            hasExpirationHandler: false,
            of: .default,
            tenant: fixture.tenant
        )
    }

    /// Submits a request that recurs every ten seconds.
    private func submitRecurring(
        _ missed: Recurrence.MissedPolicy,
        _ fixture: StoreFixture
    ) async throws {
        try await submit(fixture) {
            $0.recurrence = Recurrence(rule: .every(.seconds(10)), missed: missed)
        }
    }

    private func submit(
        _ fixture: StoreFixture,
        _ change: (inout BackgroundTaskRequest) -> Void = { _ in }
    ) async throws {
        var request = BackgroundTaskRequest(identifier: Self.task)
        change(&request)
        let result = try await fixture.stores.requests.submitRequest(
            request,
            BackgroundTaskRequestID(.version7()),
            occurrence: nil,
            of: .default,
            tenant: fixture.tenant
        )
        guard case .submitted = result else {
            Issue.record("\(result)")
            return
        }
    }

    /// Ends the client's newest run with success.
    private func complete(_ fixture: StoreFixture) async throws {
        let run = try #require(try await runs(fixture).first)
        _ = try await fixture.stores.runs.completeRun(
            run.id,
            isSuccessful: true,
            of: fixture.tenant
        )
    }

    /// Returns the client's runs, from the newest.
    private func runs(_ fixture: StoreFixture) async throws -> [BackgroundTaskRun] {
        try await fixture.stores.runs.runs(
            of: .default,
            tenant: fixture.tenant,
            before: nil,
            limit: 10
        )
    }

    /// Returns what the client's request waits for; nil when none is pending.
    private func pendingWait(_ fixture: StoreFixture) async throws -> RequestWait? {
        try await fixture.stores.requests.pendingRequest(
            Self.task,
            of: .default,
            tenant: fixture.tenant
        )?.wait
    }
}

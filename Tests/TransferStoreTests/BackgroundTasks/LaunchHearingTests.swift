import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Which subscriptions have heard of a launch, and so have accepted it.
@Suite(.postgresSchema) struct LaunchHearingTests {
    private static let task = BackgroundTaskIdentifier(stored: "clean")
    /// Events of clients, but no launches.
    private static let moves = EventFilter(["client.lifecycle_changed"])

    @Test func aSubscriptionThatCameLaterHasNotHeardIt() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await launch(fixture)
        try await fixture.subscribe()
        try await suspend(fixture)
        try await deliver(fixture)
        #expect(try await states(fixture) == [.launched])
        try await clock.pass(61)
        #expect(try await states(fixture) == [.notAccepted])
        try await clock.pass(31)
        #expect(try await states(fixture) == [.launched, .notAccepted])
        // It is there for the second launch.
        try await deliver(fixture)
        #expect(try await states(fixture) == [.running, .notAccepted])
    }

    @Test(arguments: [false, true])
    func aSubscriptionThatAsksForLaunchesLaterHasNotHeardIt(isGivenUp: Bool) async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        let id = try await fixture.subscribe(filter: Self.moves)
        try await launch(fixture)
        try await suspend(fixture)
        if isGivenUp { try await giveUpTheMove(fixture) } else { try await deliver(fixture) }
        try await askForAll(id, fixture)
        #expect(try await states(fixture) == [.launched])
        _ = try await fixture.stores.clients.launch(tenant: fixture.tenant, id: .default)
        try await deliver(fixture)
        #expect(try await states(fixture) == [.launched])
        try await clock.pass(61)
        #expect(try await states(fixture) == [.notAccepted])
    }

    /// Its cursor passes all of the client's log.
    @Test func aSubscriptionThatAsksForNothingOfTheClientHasNotHeardIt() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe(filter: EventFilter(["session.*"]))
        try await launch(fixture)
        try await deliver(fixture)
        try await askForAll(id, fixture)
        #expect(try await states(fixture) == [.launched])
    }

    @Test(arguments: [false, true])
    func aSubscriptionThatAsksForItInTimeHasHeardIt(asksLater: Bool) async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        let id = try await fixture.subscribe(filter: asksLater ? Self.moves : nil)
        try await launch(fixture)
        try await suspend(fixture)
        if asksLater { try await askForAll(id, fixture) }
        #expect(try await states(fixture) == [.launched])
        try await deliver(fixture)
        #expect(try await states(fixture) == [.running])
        try await clock.pass(61)
        #expect(try await states(fixture) == [.running])
    }

    /// The log names a batch after its last event, which is not the launch.
    @Test func aLaunchInABatchThatIsGivenUpIsNotHeard() async throws {
        let fixture = try await StoreFixture()
        let clock = BackgroundClock(fixture.stores, fixture.aside)
        try await fixture.subscribe()
        try await launch(fixture)
        try await suspend(fixture)
        try await giveUpTheMove(fixture, withTheLaunch: true)
        #expect(try await states(fixture) == [.launched])
        try await clock.pass(61)
        #expect(try await states(fixture) == [.notAccepted])
    }

    /// Whoever notes it: whatever the client says of the run, or the next look at it.
    @Test(arguments: [false, true])
    func isAcceptedWhenTheReceiverResponds(isLookedAt: Bool) async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await launch(fixture)
        try await deliver(fixture)
        let respondedAt = try await lastTry(fixture)
        if isLookedAt {
            try await BackgroundClock(fixture.stores, fixture.aside).pass(61)
        } else {
            try await accept(fixture)
        }
        #expect(try await runs(fixture).map(\.acceptedAt) == [respondedAt])
    }

    /// The delivery does not tell when that was.
    @Test func isNotAcceptedBeforeItsReplay() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await launch(fixture)
        let claim = try #require(try await fixture.claimDeliveries().first)
        #expect(try await fixture.fail(claim, retryAfter: nil) == .recorded)
        let givenUpAt = try await lastTry(fixture)
        // As a replay that was taken.
        _ = try await fixture.aside.execute("UPDATE delivery_log SET state = 'delivered'")
        #expect(try await states(fixture) == [.running])
        try await accept(fixture)
        let acceptedAt = try #require(try await runs(fixture).first?.acceptedAt)
        #expect(acceptedAt > givenUpAt)
    }

    /// Returns when a message was last tried.
    private func lastTry(_ fixture: StoreFixture) async throws -> Date {
        let tries: Query = "SELECT attempted_at FROM delivery WHERE attempted_at IS NOT NULL"
        return try await fixture.aside.execute(tries)[0].decode("attempted_at")
    }

    /// Accepts the newest run, as its client does.
    private func accept(_ fixture: StoreFixture) async throws {
        let run = try #require(try await runs(fixture).first)
        _ = try await fixture.stores.runs.acceptRun(run.id, of: fixture.tenant)
    }

    /// Launches a run of the default client.
    private func launch(_ fixture: StoreFixture) async throws {
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
        _ = try await fixture.stores.requests.submitRequest(
            BackgroundTaskRequest(identifier: Self.task),
            BackgroundTaskRequestID(.version7()),
            occurrence: nil,
            of: .default,
            tenant: fixture.tenant
        )
        try await fixture.stores.advanceTimers()
        #expect(try await states(fixture) == [.launched])
    }

    /// Adds another event to the log of the client.
    private func suspend(_ fixture: StoreFixture) async throws {
        let client = try await fixture.stores.clients.suspend(tenant: fixture.tenant, id: .default)
        #expect(client?.lifecycle == .suspended)
    }

    private func askForAll(_ id: SubscriptionID, _ fixture: StoreFixture) async throws {
        var change = SubscriptionChange()
        change.filter = .some(nil)
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
    }

    /// Acts as the dispatcher of webhooks, whose receiver takes all that it asks for.
    private func deliver(_ fixture: StoreFixture) async throws {
        let deliveries = fixture.stores.deliveries
        let claim = try #require(try await fixture.claimDeliveries().first)
        guard try await deliveries.passUnasked([claim]).isEmpty else { return }
        let events = try await fixture.stores.events.events(
            of: claim.session,
            after: claim.acknowledgedSequence,
            limit: 100
        )
        let standing = try await deliveries.recordDelivered(
            claim,
            through: try #require(events.last).sequence,
            status: 204,
            lease: .seconds(600)
        )
        #expect(standing == .current)
        #expect(try await deliveries.releaseDelivery(claim) == .idle)
    }

    /// Gives up the message of the event that follows the launch, which is not asked for or is in
    /// the same batch.
    private func giveUpTheMove(_ fixture: StoreFixture, withTheLaunch: Bool = false) async throws {
        let claim = try #require(try await fixture.claimDeliveries().first)
        let launch = claim.acknowledgedSequence + 1
        let batch = MessageBatch(id: UUID(), first: launch, count: 2)
        let result = try await fixture.stores.deliveries.recordDeliveryFailed(
            claim,
            sequence: launch + 1,
            batch: withTheLaunch ? batch : nil,
            DeliverySetback(
                attempt: StoreFixture.attempt(status: 500, reason: "http_status"),
                retryAfter: nil
            )
        )
        #expect(result == .recorded)
    }

    /// Returns the states of the client's runs, from the newest.
    private func states(_ fixture: StoreFixture) async throws -> [BackgroundTaskRun.State] {
        try await runs(fixture).map(\.state)
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
}

import Curl
import Foundation
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks
import TransferWire

/// Messages that are sent again to receivers that have too much to do, and what is left of them.
@Suite(.postgresSchema, .timeLimit(.minutes(2)))
struct WebhookRecoveryTests {
    private let threeTries = DeliverySchedule(waits: [.milliseconds(1), .milliseconds(1)])

    /// Returns the answers by which `count` messages are given up.
    private func refusals(_ count: Int) -> [WebhookReceiver.Answer] {
        Array(repeating: .status(500), count: 3 * count)
    }

    private func dead(
        _ id: SubscriptionID,
        _ fixture: DeliveryFixture
    ) async throws -> [LoggedDelivery] {
        try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant)
    }

    /// Waits until `count` messages are dead.
    private func giveUp(
        _ count: Int,
        of id: SubscriptionID,
        _ fixture: DeliveryFixture
    ) async throws {
        try await eventually("\(count) are dead") { try await dead(id, fixture).count == count }
    }

    /// Has all dead messages sent again.
    private func recover(
        _ id: SubscriptionID,
        _ fixture: DeliveryFixture,
        _ dispatcher: WebhookDispatcher
    ) async throws {
        _ = try await fixture.stores.deliveryLog.recover(
            tenant: fixture.tenant,
            subscription: id,
            since: .distantPast,
            until: nil
        )
        dispatcher.wake(for: [.replays])
    }

    private func change(
        _ id: SubscriptionID,
        _ fixture: DeliveryFixture,
        _ change: SubscriptionChange
    ) async throws {
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
    }

    /// Makes two cancelled tasks, with more other events between them than a message may hold.
    private func cancelTwice(_ fixture: DeliveryFixture) async throws {
        for count in [1, 120] {
            let task = try await fixture.happen(count)[0]
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        }
    }

    @Test func eachMessageOfARecoveryGoesWhereItsSubscriptionIsByThen() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe(answers: refusals(3) + [.hold(gate)])
        try await fixture.happen(3)
        var moved = SubscriptionChange()
        moved.url = fixture.receiver.open("/moved")
        try await fixture.withDispatcher(schedule: threeTries) { [moved] dispatcher in
            try await giveUp(3, of: id, fixture)
            try await recover(id, fixture, dispatcher)
            _ = try await fixture.receiver.messages(10)
            try await change(id, fixture, moved)
            gate.open()
            try await eventually("nothing is dead") { try await dead(id, fixture).isEmpty }
        }
        #expect(fixture.receiver.received().count == 10)
        let rest = fixture.receiver.received(at: "/moved")
        #expect(try rest.map { try $0.event().sequence } == [2, 3])
    }

    @Test func theFurtherPartsOfAMessageGoNowhereElseThanItsSubscriptionIs() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe(answers: refusals(1) + [.hold(gate)]) {
            $0.form = .batch
            $0.filter = EventFilter(["task.cancelled"])
        }
        try await cancelTwice(fixture)
        var wider = SubscriptionChange()
        wider.filter = .some(EventFilter(["task.*"]))
        var moved = SubscriptionChange()
        moved.url = fixture.receiver.open("/moved")
        // The store is asked before each message.
        try await fixture.withDispatcher(schedule: threeTries, { $0.recordInterval = .zero }) {
            [wider, moved] dispatcher in
            try await giveUp(1, of: id, fixture)
            try await change(id, fixture, wider)
            try await recover(id, fixture, dispatcher)
            _ = try await fixture.receiver.messages(4)
            try await change(id, fixture, moved)
            gate.open()
            try await eventually("nothing is dead") { try await dead(id, fixture).isEmpty }
        }
        #expect(fixture.receiver.received().count == 4)
        // The whole message again.
        #expect(fixture.receiver.received(at: "/moved").count == 2)
    }

    @Test func aReceiverThatHasTooMuchToDoGetsEverythingLaterAndInOrder() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: refusals(3) + [.status(429), .status(503)])
        try await fixture.happen(3)
        try await fixture.withDispatcher(schedule: threeTries) { dispatcher in
            try await giveUp(3, of: id, fixture)
            try await recover(id, fixture, dispatcher)
            try await eventually("nothing is dead") { try await dead(id, fixture).isEmpty }
        }
        let messages = fixture.receiver.received().dropFirst(9)
        #expect(try messages.map { try $0.event().sequence } == [1, 1, 1, 2, 3])
        let delivered = try await fixture.stores.deliveryLog.logged(
            id,
            .delivered,
            of: fixture.tenant
        )
        let first = try #require(delivered.first { $0.sequence == 1 })
        #expect(first.attempts.map(\.status) == [500, 500, 500, 429, 503, 204])
        #expect(first.nextAttemptAt == nil)
    }

    @Test func whatIsSentAgainKeepsToTheRateThatTheOwnerAllows() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: refusals(5))
        try await fixture.happen(5)
        try await fixture.withDispatcher(schedule: threeTries) { dispatcher in
            try await giveUp(5, of: id, fixture)
            var slower = SubscriptionChange()
            slower.rateLimit = 8
            try await change(id, fixture, slower)
            let start = ContinuousClock.now
            try await recover(id, fixture, dispatcher)
            _ = try await fixture.receiver.messages(20)
            // Five messages at eight a second have four gaps; a slow machine only makes them
            // longer.
            #expect(ContinuousClock.now - start >= .milliseconds(450))
        }
    }

    @Test func aProxyThatIsAwayEndsNoReplay() async throws {
        let fixture = try await DeliveryFixture()
        let url = fixture.receiver.open(answers: refusals(3))
        let id = try await fixture.subscribe(url: url)
        try await fixture.happen(3)
        let port = try #require(URL(string: url)?.port)
        let proxy = try ConnectProxy(to: UInt16(port))
        defer { proxy.stop() }
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let away = try CurlProxy(url: "http://127.0.0.1:\(held.number)")
        let running = try CurlProxy(url: proxy.url)
        let route = Route()
        let egress = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { _, _ in true },
            proxy: { _ in route.next() }
        )
        try await fixture.withDispatcher(schedule: threeTries, egress: egress) { dispatcher in
            try await giveUp(3, of: id, fixture)
            route.lead(through: away)
            try await recover(id, fixture, dispatcher)
            try await eventually("a replay has failed for us") { route.uses > 1 }
            #expect(fixture.receiver.received().count == 9)
            route.lead(through: running)
            try await eventually("nothing is dead") { try await dead(id, fixture).isEmpty }
        }
        let messages = fixture.receiver.received().dropFirst(9)
        #expect(try messages.map { try $0.event().sequence } == [1, 2, 3])
    }

    @Test func aBatchOfWhichNothingIsAskedForAnyMoreIsOver() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: refusals(1)) { $0.form = .batch }
        try await fixture.happen(2)
        try await fixture.withDispatcher(schedule: threeTries) { dispatcher in
            try await giveUp(1, of: id, fixture)
            var narrower = SubscriptionChange()
            narrower.filter = .some(EventFilter(["task.failed"]))
            try await change(id, fixture, narrower)
            try await recover(id, fixture, dispatcher)
            try await eventually("the replay is over") {
                let delivery = try await dead(id, fixture).first
                return delivery?.attempts.last?.reason == "not_asked_for"
                    && delivery?.nextAttemptAt == nil
            }
        }
        #expect(fixture.receiver.received().count == 3)
    }

    @Test func aBatchOfWhichMoreIsAskedForStaysWithinBounds() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: refusals(1)) {
            $0.form = .batch
            $0.filter = EventFilter(["task.cancelled"])
        }
        try await cancelTwice(fixture)
        try await fixture.withDispatcher(schedule: threeTries) { dispatcher in
            try await giveUp(1, of: id, fixture)
            var wider = SubscriptionChange()
            wider.filter = .some(EventFilter(["task.*"]))
            try await change(id, fixture, wider)
            try await recover(id, fixture, dispatcher)
            try await eventually("nothing is dead") { try await dead(id, fixture).isEmpty }
        }
        let sequences = try fixture.receiver.received().map { message in
            try JSONDecoder().decode(BatchMessage.self, from: Data(message.body)).data.events
                .map(\.data.sequence)
        }
        #expect(sequences.prefix(3) == [[2, 124], [2, 124], [2, 124]])
        // The third is the end of the first generation, which no batch holds.
        #expect(sequences.dropFirst(3).map(\.count) == [MessageBatch.eventsMax, 22])
        #expect(sequences.dropFirst(3).flatMap { $0 } == [2] + Array(4...124))
    }

    @Test func aTestGoesOnlyWhereItsTenantMay() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe()
        let endpoint = try #require(
            try await fixture.stores.deliveryLog.endpoint(tenant: fixture.tenant, subscription: id)
        )
        let confined = fixture.tenant.uuid
        let egress = EgressGuard(
            allowsHost: { _, tenant in tenant != confined },
            allows: { _, _ in true }
        )
        try await fixture.withDispatcher(egress: egress) { dispatcher in
            let attempt = await dispatcher.sender.sendTest(
                of: id,
                to: endpoint,
                for: fixture.tenant
            )
            #expect(attempt.reason == "egress_denied")
        }
        #expect(fixture.receiver.received().isEmpty)
    }
}

/// The way to the receiver, which may be through a proxy.
private final class Route: Sendable {
    private struct State {
        var proxy: CurlProxy?
        var uses = 0
    }

    private let state = Mutex(State())

    /// How often the proxy was used.
    var uses: Int { state.withLock { $0.uses } }

    func lead(through proxy: CurlProxy) {
        state.withLock { $0 = State(proxy: proxy) }
    }

    func next() -> CurlProxy? {
        state.withLock { state in
            if state.proxy != nil { state.uses += 1 }
            return state.proxy
        }
    }
}

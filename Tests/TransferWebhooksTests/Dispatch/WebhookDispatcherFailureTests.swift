import Curl
import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookDispatcherFailureTests {
    /// A schedule without a second try within a test.
    private let patient = DeliverySchedule(waits: [.seconds(1000)])

    @Test func repeatsAFailedMessageWithSameIdentifierAndBytes() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.status(500), .status(503)])
        try await fixture.happen(2)
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(4)
        }
        // No message overtakes the failing one.
        #expect(try messages.map { try $0.event().sequence } == [1, 1, 1, 2])
        #expect(Set(messages[..<3].map(\.id)).count == 1)
        #expect(Set(messages[..<3].map(\.body)).count == 1)
        #expect(Set(messages[..<3].map { $0["webhook-timestamp"] }).count == 3)
        #expect(Set(messages[..<3].map { $0["webhook-signature"] }).count == 3)
    }

    @Test func repeatsTheBytesItSentWhateverTheTaskHasBecome() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.status(500), .status(500), .status(500)])
        let task = try await fixture.happen(1)[0]
        let messages = try await fixture.withDispatcher { _ in
            for (count, text) in ["first", "second"].enumerated() {
                _ = try await fixture.receiver.messages(count + 1)
                var change = TaskChange()
                change.clientString = .some(ClientString(text))
                _ = try await fixture.stores.control.changeTask(
                    tenant: fixture.tenant,
                    id: task,
                    change
                )
            }
            _ = try await fixture.receiver.messages(4)
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
            return try await fixture.receiver.messages(6)
        }
        #expect(Set(messages[..<4].map(\.body)).count == 1)
        #expect(!String(decoding: messages[3].body, as: UTF8.self).contains("client_persisted"))
        let end = String(decoding: messages[4].body, as: UTF8.self)
        #expect(end.contains(#""client_persisted_string":"second""#))
    }

    @Test func aReceiverThatFailsIsSparedByWhatWaitsForItsSlots() async throws {
        let fixture = try await DeliveryFixture()
        var health = DeliveryHealth()
        health.pauses = [.seconds(1000)]
        try await fixture.subscribe(answers: Array(repeating: .status(500), count: 200))
        for number in 0..<100 { try await fixture.happen(1, in: "session-\(number)") }
        try await fixture.withDispatcher(schedule: patient, health: health) { _ in
            try await eventually("all wait for the end of the pause") {
                try await fixture.deliveries().allSatisfy { $0.fence == nil && !$0.isDue }
            }
        }
        // Ten failures, and what else was in flight by then.
        let inFlightMax = DeliveryBounds().perSubscriptionMax - 1
        #expect(fixture.receiver.received().count <= health.failuresMax + inFlightMax)
    }

    /// An hour, here.
    @Test func aClockThatWasSetAheadDisablesNothing() async throws {
        let fixture = try await DeliveryFixture()
        var health = DeliveryHealth()
        (health.failuresMax, health.disabledAfter) = (1, .zero)
        try await fixture.subscribe(answers: [.status(500)])
        try await fixture.happen(1)
        let latest = Date() - 3600
        try await fixture.withDispatcher(health: health, latestDate: { latest }) { _ in
            _ = try await fixture.receiver.messages(2)
        }
        let disabled: Query = """
            SELECT count(*) AS count FROM subscription WHERE disabled_at IS NOT NULL
            """
        #expect(try await fixture.count(disabled) == 0)
    }

    @Test func countsTriesAndForgetsThemAfterASuccess() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.status(500), .status(500), .status(204)])
        try await fixture.happen(1)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(3) }
        let delivery = try await fixture.settledDelivery()
        #expect(delivery.attempt == 0)
        #expect(delivery.acknowledgedSequence == 1)
        #expect(delivery.lastError == nil)
        #expect(delivery.lastStatus == 204)
    }

    @Test func logsAFailedTryWithoutURLOrSecret() async throws {
        let fixture = try await DeliveryFixture()
        let subscription = try await fixture.subscribe(answers: [.status(503)])
        try await fixture.happen(1)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(2) }
        let line = try #require(
            fixture.log.lines.first { $0.hasPrefix("notice webhook not delivered") }
        )
        for field in ["attempt=1", "status=503", "subscription=\(subscription)"] {
            #expect(line.contains(field))
        }
        for line in fixture.log.lines {
            #expect(!line.contains("127.0.0.1"))
            #expect(!line.contains("whsec_"))
            #expect(!line.contains(fixture.secret.serialized.dropFirst(6)))
        }
    }

    @Test func aStoreThatIsAwayForAMomentHoldsUpNoEndOfAGeneration() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        let task = try await fixture.happen(1)[0]
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        let aside = try await TestDatabase.current.connection()
        // Only the end of a generation queries the log of deliveries for its contents.
        try await aside.executeScript("BEGIN; LOCK TABLE delivery_log IN ACCESS EXCLUSIVE MODE")
        try await fixture.withDispatcher(schedule: patient) { _ in
            try await eventually("the question is refused") {
                try await fixture.count(Self.cancelWaiting(for: "%died_at IS NOT NULL%")) > 0
            }
            try await aside.executeScript("COMMIT")
            try await eventually("the end is delivered") {
                fixture.receiver.received().count >= 3
            }
        }
        #expect(try fixture.receiver.received().last?.event().type == "session.events_finished")
        #expect(try await fixture.settledDelivery().attempt == 0)
    }

    @Test func aStoreThatIsAwayForAMomentGetsBackWhatIsReleased() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        try await fixture.happen(1)
        let aside = try await TestDatabase.current.connection()
        try await aside.executeScript("BEGIN; SELECT 1 FROM session_progress FOR UPDATE")
        try await fixture.withDispatcher { _ in
            try await eventually("the release is refused") {
                try await fixture.count(Self.cancelWaiting(for: "%session_progress%")) > 0
            }
            try await aside.executeScript("COMMIT")
            // Long before its lease is over, for which nobody would wait.
            try await eventually("the pair is idle") {
                try await fixture.delivery().wait == nil
            }
        }
    }

    /// Returns a query that cancels the store's statements like `pattern` that wait for a lock.
    private static func cancelWaiting(for pattern: String) -> Query {
        """
        SELECT count(*) AS count FROM (
            SELECT pg_cancel_backend(pid) FROM pg_stat_activity
            WHERE application_name = \(TestDatabase.current.schema)
                AND wait_event_type = 'Lock' AND query LIKE \(pattern)
        ) c
        """
    }

    @Test func neverFollowsARedirect() async throws {
        let fixture = try await DeliveryFixture()
        let elsewhere = fixture.receiver.open("/elsewhere")
        try await fixture.subscribe(answers: [
            .status(302, headers: [("location", elsewhere)]),
            .status(307, headers: [("location", elsewhere)]),
        ])
        try await fixture.happen(1)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(3) }
        #expect(fixture.receiver.received(at: "/elsewhere").isEmpty)
    }

    @Test func waitsAsLongAsTheReceiverAsks() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.status(429, headers: [("retry-after", "7200")])])
        try await fixture.happen(1)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(1) }
        let delivery = try await fixture.delivery()
        let wait = try #require(delivery.wait)
        #expect((7100...7200).contains(wait))
        #expect(delivery.lastStatus == 429)
        #expect(delivery.attempt == 1)
        #expect(delivery.fence == nil)
    }

    @Test func countsARefusedAddressAsAFailedTry() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        try await fixture.happen(1)
        let delivery = try await fixture.withDispatcher(
            schedule: patient,
            egress: EgressGuard { _ in false }
        ) { _ in try await fixture.settledDelivery() }
        #expect(delivery.lastError == "egress_denied")
        #expect(delivery.lastStatus == nil)
        #expect(delivery.attempt == 1)
        #expect(fixture.receiver.log.now.connectionsAccepted == 0)
    }

    @Test(arguments: [
        ("http://127.0.0.1:1/", "could_not_connect"), ("gopher://127.0.0.1/", "unsupported_url"),
        ("", "unsupported_url"), ("http://name.invalid/", "could_not_resolve_host"),
    ])
    func countsAnUnusableURLAsAFailedTry(url: String, reason: String) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(url: url)
        try await fixture.happen(1)
        let delivery = try await fixture.withDispatcher(schedule: patient) { _ in
            try await fixture.settledDelivery()
        }
        #expect(delivery.lastError == reason)
        #expect(delivery.attempt == 1)
    }

    @Test func givesUpOnAReceiverThatNeverAnswers() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(1)
        let messages = try await fixture.withDispatcher({
            $0.messageTimeout = .milliseconds(200)
        }) { _ in try await fixture.receiver.messages(2) }
        #expect(messages[0].id == messages[1].id)
        gate.open()
    }

    @Test func takesASuccessWithAnEndlessBodyAsDelivered() async throws {
        let fixture = try await DeliveryFixture()
        let endless = OriginScript([
            .head(200), .forever(Array(repeating: UInt8(ascii: "x"), count: 4096)),
        ])
        try await fixture.subscribe(answers: [.script(endless)])
        try await fixture.happen(2)
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(2)
        }
        #expect(try messages.map { try $0.event().sequence } == [1, 2])
    }

    @Test(arguments: [
        OriginScript.raw("not HTTP at all\r\n\r\n"), OriginScript([.reset]), OriginScript([.close]),
        OriginScript([.head(200, [("content-length", "1000")]), .raw([1, 2, 3]), .close]),
        OriginScript([.raw(Array("HTTP/1.1 200 OK\r\n".utf8)), .forever(Array("a: b\r\n".utf8))]),
    ])
    func survivesWhateverAReceiverSends(_ script: OriginScript) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.script(script)])
        try await fixture.happen(1)
        // libcurl itself may retry a kept connection that breaks, hence at least two.
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(2) }
        #expect(try await fixture.settledDelivery().acknowledgedSequence == 1)
    }

    /// No receiver can help it that a proxy on the way answers nobody.
    @Test func aSilentProxyIsNoFailureOfTheReceiver() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        try await fixture.happen(1)
        let silent = try SilentListener()
        defer { withExtendedLifetime(silent) {} }
        let proxy = try CurlProxy(url: "http://127.0.0.1:\(silent.port)")
        let egress = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { _, _ in true },
            proxy: { _ in proxy }
        )
        try await fixture.withDispatcher(
            schedule: patient,
            egress: egress,
            { $0.messageTimeout = .milliseconds(200) }
        ) { _ in
            try await eventually("it was tried") {
                try await fixture.deliveries().first?.isTried == true
            }
        }
        #expect(try await fixture.settledDelivery().lastError == "service")
        #expect(try await fixture.count("SELECT count(*) AS count FROM failure_streak") == 0)
    }

    @Test func givesBackAtShutdownWhatWasNotAnswered() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(2)
        try await fixture.withDispatcher({ $0.shutdownGrace = .zero }) { _ in
            _ = try await fixture.receiver.messages(1)
        }
        let delivery = try await fixture.delivery()
        #expect(delivery.isDue)
        #expect(delivery.fence == nil)
        #expect(delivery.attempt == 0)
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(3)
        }
        #expect(messages[0].id == messages[1].id)
        gate.open()
    }

    @Test func waitsAtShutdownForTheAnswerOnItsWay() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(2)
        try await fixture.withDispatcher(
            { $0.shutdownGrace = .seconds(50) },
            whileStopping: { gate.open() }
        ) { _ in _ = try await fixture.receiver.messages(1) }
        let delivery = try await fixture.delivery()
        #expect(delivery.acknowledgedSequence >= 1)
        #expect(delivery.fence == nil)
    }
}

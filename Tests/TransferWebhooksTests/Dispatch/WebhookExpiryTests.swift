import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks
import TransferWire

/// Receivers that were absent until events expired.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookExpiryTests {
    private func messages(
        _ fixture: DeliveryFixture,
        at path: String = "/hook"
    ) throws -> [EventMessage] {
        try fixture.receiver.received(at: path).map {
            try JSONDecoder().decode(EventMessage.self, from: Data($0.body))
        }
    }

    /// Returns the reports that a receiver got about the events that it has lost.
    private func told(
        _ fixture: DeliveryFixture,
        at path: String = "/hook"
    ) throws -> [EventMessage.ExpiredEvents] {
        try messages(fixture, at: path).compactMap(\.data.expiredEvents)
    }

    private func expire(through sequence: Int, _ fixture: DeliveryFixture) async throws {
        try await fixture.execute(
            Query.expireEvents(
                where: "last_sequence <= \(sequence) AND session_id IN (SELECT id FROM session)"
            )
        )
    }

    @Test(arguments: [2, 5])
    func goesOnWithTheOldestEventThatIsKept(forgotten: Int) async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe()
        try await fixture.happen(5)
        try await expire(through: forgotten, fixture)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(6 - forgotten)
            try await fixture.happen(1)
            _ = try await fixture.receiver.messages(7 - forgotten)
        }
        let messages = try messages(fixture)
        let sequences = messages.filter { $0.type == "task.created" }.map(\.data.sequence)
        #expect(sequences == Array(Int64(forgotten + 1)...6))
        let told = try #require(messages.first { $0.type == "subscription.events_expired" })
        #expect(told.data.sequence == 1)
        #expect(told.data.sessionIdentifier == nil)
        #expect(told.data.expiredEvents?.subscriptionID == id.description)
        #expect(told.data.expiredEvents?.sessionIdentifier == "nightly")
        #expect(told.data.expiredEvents?.client == "default")
        #expect(told.data.expiredEvents?.firstSequence == 1)
        #expect(told.data.expiredEvents?.lastSequence == Int64(forgotten))
        let lines = fixture.log.lines.filter { $0.contains("not kept") }
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("warning") == true)
        #expect(lines.first?.contains(" events=\(forgotten) ") == true)
    }

    /// A backup that was restored may have less of a log than was delivered of it.
    @Test func startsOverWhereTheLogEndsBeforeTheCursor() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        try await fixture.happen(2)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(2)
            try await eventually("nothing is due") {
                let idle: Query = "SELECT count(*) AS count FROM delivery WHERE due_at IS NULL"
                return try await fixture.count(idle) == 1
            }
            try await fixture.execute("UPDATE delivery SET acknowledged_sequence = 9")
            try await fixture.happen(1)
            _ = try await fixture.receiver.messages(5)
        }
        #expect(try messages(fixture).map(\.data.sequence) == [1, 2, 1, 2, 3])
        let lines = fixture.log.lines.filter { $0.contains("sent again") }
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("warning") == true)
        #expect(lines.first?.contains(" delivered=9 ") == true)
    }

    @Test func aReceiverThatWasAwayIsToldWhatExpired() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: [.status(500)])
        try await fixture.subscribe("/asks", answers: [.status(500)]) {
            $0.filter = EventFilter(["task.created"])
        }
        try await fixture.happen(4)
        let patient = DeliverySchedule(waits: [.seconds(3600)])
        try await fixture.withDispatcher(schedule: patient) { dispatcher in
            for path in ["/hook", "/asks"] { _ = try await fixture.receiver.messages(1, at: path) }
            try await eventually("both tries are recorded") {
                try await fixture.deliveries().filter { $0.attempt == 1 }.count == 2
            }
            try await expire(through: 3, fixture)
            try await fixture.execute("UPDATE delivery SET due_at = now()")
            dispatcher.wake(for: [.deliveries])
            // The first, which failed, the fourth, and the reports of what both have lost.
            _ = try await fixture.receiver.messages(4)
            _ = try await fixture.receiver.messages(2, at: "/asks")
            try await eventually("nothing is left") {
                try await fixture.deliveries().allSatisfy { $0.wait == nil }
            }
        }
        let told = try told(fixture)
        #expect(told.map(\.firstSequence) == [1, 1])
        #expect(told.map(\.lastSequence) == [3, 3])
        #expect(Set(told.map(\.subscriptionID)).contains(id.description))
        // A receiver that names kinds, but not this one, finds it only in the list.
        #expect(try messages(fixture, at: "/asks").map(\.data.sequence) == [1, 4])
        let listed = try await fixture.stores.deliveryLog.logged(id, .expired, of: fixture.tenant)
        #expect(listed.map(\.firstExpired) == [1])
        #expect(listed.map(\.sequence) == [3])
    }

    @Test(arguments: [DeliveryForm.single, .batch])
    func whatIsMissingAmongOthersIsToldBetweenThem(form: DeliveryForm) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe { $0.form = form }
        try await fixture.subscribe("/told") {
            $0.filter = EventFilter(["subscription.events_expired"])
        }
        try await fixture.happen(6)
        try await fixture.execute(Query.expireEvents(where: "last_sequence IN (3, 4)"))
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(1, at: "/told")
            try await eventually("nothing is left") {
                try await fixture.deliveries().allSatisfy { $0.wait == nil }
            }
        }
        let told = try told(fixture, at: "/told")
        #expect(told.map(\.firstSequence) == [3])
        #expect(told.map(\.lastSequence) == [4])
        let sequences = try fixture.receiver.received().flatMap { message in
            let body = Data(message.body)
            let batch = try? JSONDecoder().decode(BatchMessage.self, from: body)
            return try batch?.data.events
                ?? [try JSONDecoder().decode(EventMessage.self, from: body)]
        }.filter { $0.type == "task.created" }.map(\.data.sequence)
        #expect(sequences == [1, 2, 5, 6])
    }

    @Test func oneForASessionIsToldOfItselfAlone() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe("/one", session: "a")
        try await fixture.subscribe("/all")
        for session in ["a", "b"] { try await fixture.happen(2, in: session) }
        try await expire(through: 1, fixture)
        // It is told first, so that the reports to the others come after that.
        let due = try await fixture.stores.deliveries.claimDeliveries(
            fixture.worker.reserve(10),
            limit: 10,
            lease: .seconds(60)
        )
        for claim in due.claims.sorted(by: { $0.isScoped && !$1.isScoped }) {
            #expect(
                try await fixture.stores.deliveries.recordExpired(claim, lease: .seconds(60)) == 1
            )
            #expect(try await fixture.stores.deliveries.releaseDelivery(claim) != .stale)
        }
        try await fixture.withDispatcher { _ in
            // Two events that are kept, and three that report lost ones.
            _ = try await fixture.receiver.messages(5, at: "/all")
            _ = try await fixture.receiver.messages(2, at: "/one")
            try await eventually("nothing is left") {
                try await fixture.deliveries().allSatisfy { $0.wait == nil }
            }
        }
        #expect(try told(fixture, at: "/all").count == 3)
        #expect(try told(fixture, at: "/one").map(\.subscriptionID) == [id.description])
    }
}

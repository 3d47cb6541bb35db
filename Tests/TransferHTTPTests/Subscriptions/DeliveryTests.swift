import Foundation
import Postgres
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct DeliveryTests {
    /// Makes a subscription with `count` dead messages, and returns its path.
    private func prepare(_ server: APIServer, dead count: Int) async throws -> String {
        let created = try await server.send(
            "POST",
            "/v1/subscriptions",
            #"{"url": "https://receiver.example/"}"#
        )
        let session = try await server.session()
        for _ in 0..<count { _ = try await server.submit(session) }
        let identity = WorkerIdentity(
            incarnation: try await server.stores.workers.registerWorker(name: "test")
        )
        for sequence in 1...Int64(max(count, 1)) where count > 0 {
            _ = try await server.stores.deliveries.recordDeliveryFailed(
                claim(server, by: identity),
                sequence: sequence,
                DeliverySetback(attempt: .fixture, retryAfter: nil)
            )
        }
        return try #require(created.fields["location"])
    }

    private func claim(
        _ server: APIServer,
        by identity: WorkerIdentity
    ) async throws -> DeliveryClaim {
        try #require(
            try await server.stores.deliveries.claimDeliveries(
                identity.reserve(1),
                limit: 1,
                lease: .seconds(60)
            ).claims.first
        )
    }

    /// Returns the token of the only `session.events_finished`.
    private func closingToken() async throws -> AckToken {
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute(
            """
            SELECT e.session_id, e.sequence,
                substring(sha256(b.ack_key || uuid_send(e.id)) FOR 24) AS proof
            FROM event e, subscription b WHERE e.kind = 'session.events_finished'
            """
        )[0]
        await connection.close()
        return AckToken(
            session: SessionID(try row.decode("session_id")),
            sequence: try row.decode("sequence"),
            proof: try row.decode("proof")
        )
    }

    @Test func listsFromTheNewestInPages() async throws {
        try await APIServer.run { server in
            let location = try await prepare(server, dead: 5)
            var sequences: [Int64] = []
            var next: String? = ""
            while let cursor = next {
                let query = cursor.isEmpty ? "" : "&cursor=\(cursor)"
                let page = try await server.send(
                    "GET",
                    "\(location)/deliveries?limit=2&state=dead\(query)"
                ).json(Page<DeliveryDocument>.self)
                sequences += page.items.map(\.sequence)
                next = page.nextCursor
            }
            #expect(sequences == [5, 4, 3, 2, 1])
            let none = try await server.send("GET", "\(location)/deliveries?state=waiting")
            #expect(none.text == #"{"items":[],"has_more":false}"#)
            let unknown = try await server.send("GET", "\(location)/deliveries?state=lost")
            #expect(unknown.faults == ["state invalid_value"])
            #expect(unknown.text.contains("`waiting`, `delivered`, `dead`, `expired`"))
        }
    }

    @Test func showsEachTryWithItsAnswer() async throws {
        try await APIServer.run { server in
            let location = try await prepare(server, dead: 1)
            let page = try await server.send("GET", "\(location)/deliveries")
                .json(Page<DeliveryDocument>.self)
            let listed = try #require(page.items.first)
            let delivery = try await server.send("GET", "/v1/deliveries/\(listed.id)")
                .json(DeliveryDocument.self)
            #expect(delivery.state == "dead")
            #expect(delivery.eventType == "task.created")
            #expect(delivery.sessionIdentifier == "photos")
            #expect(delivery.diedAt != nil)
            let attempt = try #require(delivery.attempts.first)
            #expect(attempt.status == 500)
            #expect(attempt.reason == "http_status")
            #expect(attempt.answer == "no")
            #expect(attempt.durationMS == 12)
            #expect(!attempt.delivered)
        }
    }

    @Test func listsWhatHasExpired() async throws {
        try await APIServer.run { server in
            let location = try await prepare(server, dead: 0)
            for _ in 0..<2 { _ = try await server.submit("/v1/sessions/photos") }
            let connection = try await TestDatabase.current.connection()
            _ = try await connection.execute("DELETE FROM event_run")
            await connection.close()
            let identity = WorkerIdentity(
                incarnation: try await server.stores.workers.registerWorker(name: "test")
            )
            let claim = try await claim(server, by: identity)
            #expect(
                try await server.stores.deliveries.recordExpired(claim, lease: .seconds(60)) == 2
            )
            for query in ["", "?state=expired"] {
                let page = try await server.send("GET", "\(location)/deliveries\(query)")
                    .json(Page<DeliveryDocument>.self)
                #expect(page.items.map(\.state) == ["expired"])
            }
            let page = try await server.send("GET", "\(location)/deliveries")
                .json(Page<DeliveryDocument>.self)
            let listed = try #require(page.items.first)
            let delivery = try await server.send("GET", "/v1/deliveries/\(listed.id)")
                .json(DeliveryDocument.self)
            #expect(delivery.firstSequence == 1)
            #expect(delivery.sequence == 2)
            #expect(delivery.eventCount == 2)
            #expect(delivery.eventID == nil && delivery.eventType == nil)
            #expect(delivery.sessionIdentifier == "photos")
            #expect(delivery.diedAt != nil)
            #expect(delivery.attempts.isEmpty)
            let replay = try await server.send("POST", "/v1/deliveries/\(listed.id)/replay")
            #expect(replay.status == 404)
            let events = try await server.send("GET", "/v1/events?types=subscription.*")
                .json(EventPage.self)
            #expect(events.items.map(\.type) == ["subscription.events_expired"])
            let expired = try #require(events.items.first?.data.expiredEvents)
            #expect(location.hasSuffix(expired.subscriptionID))
            #expect(expired.sessionIdentifier == "photos")
            #expect(expired.client == "default")
            #expect(expired.firstSequence == 1)
            #expect(expired.lastSequence == 2)
        }
    }

    @Test func replaysAndRecovers() async throws {
        try await APIServer.run { server in
            let location = try await prepare(server, dead: 3)
            let page = try await server.send("GET", "\(location)/deliveries")
                .json(Page<DeliveryDocument>.self)
            let path = "/v1/deliveries/\(page.items[0].id)"
            let wakes = server.wakes.value
            let replay = try await server.send("POST", "\(path)/replay")
            #expect(replay.status == 202)
            #expect(replay.fields["location"] == path)
            #expect(try replay.json(DeliveryDocument.self).nextAttemptAt != nil)
            #expect(server.wakes.value == wakes + 1)
            #expect(server.wakes.latest == [.replays])
            let recovery = try await server.send(
                "POST",
                "\(location)/recover",
                #"{"since": "2026-01-01T00:00:00Z"}"#
            )
            #expect(recovery.status == 202)
            // Without the one that is already being replayed.
            #expect(try recovery.json(RecoverDocument.self).replays == 2)
            for (body, fault) in [
                ("{}", "/since required"),
                (#"{"since": "soon"}"#, "/since invalid_date"),
                (
                    #"{"since": "2026-01-02T00:00:00Z", "until": "2026-01-02T00:00:00Z"}"#,
                    "/until invalid_date"
                ),
            ] {
                let answer = try await server.send("POST", "\(location)/recover", body)
                #expect(answer.faults == [fault])
            }
        }
    }

    @Test func testsASubscription() async throws {
        try await APIServer.run { server in
            let location = try await prepare(server, dead: 0)
            let answer = try await server.send("POST", "\(location)/test")
            let attempt = try answer.json(DeliveryAttemptDocument.self)
            #expect(attempt.status == 500)
            #expect(!attempt.delivered)
            #expect(attempt.replay == nil)
        }
    }

    @Test func testsThatWaitForTheirReceiversLeaveRoomForOthers() async throws {
        let receiver = SilentReceiver()
        try await APIServer.run(sendTest: { _, _, _ in await receiver.answer() }) { server in
            let location = try await prepare(server, dead: 0)
            let most = TestSlots.perTenantMax
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<most {
                    group.addTask { try await server.send("POST", "\(location)/test").status }
                }
                try await eventually("all of them wait") { receiver.waitingCount == most }
                receiver.answerWhatComes()
                let refused = try await server.send("POST", "\(location)/test")
                #expect(refused.status == 429)
                #expect(refused.fields["retry-after"] != nil)
                #expect(try refused.json(ProblemDetails.self).limit == "test_messages")
                let created = try await server.send(
                    "POST",
                    "/v1/subscriptions",
                    #"{"url": "https://receiver.example/"}"#,
                    as: server.second
                )
                let other = try #require(created.fields["location"])
                let taken = try await server.send("POST", "\(other)/test", as: server.second)
                #expect(taken.status == 200)
                receiver.answerWhatWaits()
                for try await status in group { #expect(status == 200) }
            }
            #expect(try await server.send("POST", "\(location)/test").status == 200)
        }
    }

    @Test func showsNothingOfAnotherTenant() async throws {
        try await APIServer.run { server in
            let location = try await prepare(server, dead: 1)
            let page = try await server.send("GET", "\(location)/deliveries")
                .json(Page<DeliveryDocument>.self)
            let path = "/v1/deliveries/\(page.items[0].id)"
            let second = server.second
            for (method, path, body) in [
                ("GET", "\(location)/deliveries", nil), ("POST", "\(location)/test", nil),
                ("POST", "\(location)/recover", #"{"since": "2026-01-01T00:00:00Z"}"#),
            ] as [(String, String, String?)] {
                let answer = try await server.send(method, path, body, as: second)
                #expect(answer.code == .unknownSubscription)
            }
            for (method, path) in [("GET", path), ("POST", "\(path)/replay")] {
                let answer = try await server.send(method, path, as: second)
                #expect(answer.code == .unknownDelivery)
            }
            #expect(try await server.send("GET", "/v1/deliveries/none").code == .unknownDelivery)
            // None of these requests changed anything either.
            let delivery = try await server.send("GET", path).json(DeliveryDocument.self)
            #expect(delivery.nextAttemptAt == nil)
        }
    }

    @Test func acknowledgesOnceAndOnlyWithItsToken() async throws {
        try await APIServer.run { server in
            _ = try await prepare(server, dead: 0)
            let task = try await server.submit("/v1/sessions/photos")
            _ = try await server.send("POST", "/v1/tasks/\(task)/cancel")
            let token = try await closingToken()
            let wrong = AckToken(
                session: token.session,
                sequence: token.sequence,
                proof: Array(repeating: 7, count: 24)
            )
            func acknowledge(
                _ token: String,
                _ session: String = "photos",
                of client: String = "default",
                as tenant: APIServer.Tenant? = nil
            ) async throws -> HTTPClient.Answer {
                try await server.send(
                    "POST",
                    "/v1/sessions/\(session)/events/ack?client=\(client)",
                    #"{"ack_token": "\#(token)"}"#,
                    as: tenant
                )
            }
            #expect(try await acknowledge(wrong.serialized).code == .staleAckToken)
            #expect(try await acknowledge("none").code == .staleAckToken)
            #expect(try await acknowledge(token.serialized, "none").code == .unknownSession)
            _ = try await server.session(as: server.second)
            let foreign = try await acknowledge(token.serialized, as: server.second)
            #expect(foreign.code == .staleAckToken)
            try await server.send("PUT", "/v1/clients/share")
            try await server.send("PUT", "/v1/sessions/photos?client=share")
            let shared = try await acknowledge(token.serialized, of: "share")
            #expect(shared.code == .staleAckToken)
            let wakes = server.wakes.value
            #expect(try await acknowledge(token.serialized).status == 204)
            #expect(server.wakes.value == wakes + 1)
            #expect(server.wakes.latest == [.deliveries])
            #expect(try await acknowledge(token.serialized).code == .staleAckToken)
        }
    }

    @Test func anAcknowledgementMayBeRepeatedAfterTheEndOfItsSession() async throws {
        try await APIServer.run { server in
            _ = try await prepare(server, dead: 0)
            let task = try await server.submit("/v1/sessions/photos")
            _ = try await server.send("POST", "/v1/tasks/\(task)/cancel")
            let token = try await closingToken()
            #expect(try await server.send("DELETE", "/v1/sessions/photos").status == 204)
            let path = "/v1/sessions/photos/events/ack"
            let body = #"{"ack_token": "\#(token.serialized)"}"#
            #expect(try await server.send("POST", path, body).status == 204)
            #expect(try await server.send("POST", path, body).code == .staleAckToken)
        }
    }

    @Test func listsWhatHappenedToTheTenant() async throws {
        try await APIServer.run { server in
            let location = try await prepare(server, dead: 0)
            _ = try await server.submit("/v1/sessions/photos")
            let identity = WorkerIdentity(
                incarnation: try await server.stores.workers.registerWorker(name: "test")
            )
            let claim = try await claim(server, by: identity)
            let result = try await server.stores.deliveries.recordDeliveryFailed(
                claim,
                sequence: 1,
                DeliverySetback(attempt: .fixture, retryAfter: .seconds(1), isGone: true)
            )
            #expect(result == .disabled)
            let page = try await server.send("GET", "/v1/events").json(EventPage.self)
            #expect(page.items.map(\.type) == ["task.created", "subscription.disabled"])
            #expect(page.items.last?.data.subscription?.reason == "gone")
            #expect(page.items.last?.data.sessionID == nil)
            #expect(page.next.hasSuffix(":2"))
            let after = try await server.send("GET", "/v1/events?after=\(page.next)")
                .json(EventPage.self)
            #expect(after.items.isEmpty)
            let foreign = try await server.send("GET", "/v1/events", as: server.second)
            #expect(try foreign.json(EventPage.self).items.isEmpty)
            let subscription = try await server.send("GET", location)
                .json(SubscriptionDocument.self)
            #expect(subscription.disabled?.reason == "gone")
        }
    }
}

/// A receiver of test messages that does not answer until it is told to.
private final class SilentReceiver: Sendable {
    private struct State {
        var waitingCount = 0
        var isSilent = true
        var keepsWaiting = true
    }

    private let state = Mutex(State())

    /// The number of messages that have waited for an answer so far.
    var waitingCount: Int { state.withLock { $0.waitingCount } }

    func answer() async -> DeliveryAttempt {
        let waits = state.withLock { state in
            if state.isSilent { state.waitingCount += 1 }
            return state.isSilent
        }
        if waits {
            try? await eventually("an answer is wanted", within: .seconds(60)) {
                state.withLock { !$0.keepsWaiting }
            }
        }
        return .fixture
    }

    /// Answers all further messages at once.
    func answerWhatComes() { state.withLock { $0.isSilent = false } }

    /// Answers the messages that wait.
    func answerWhatWaits() { state.withLock { $0.keepsWaiting = false } }
}

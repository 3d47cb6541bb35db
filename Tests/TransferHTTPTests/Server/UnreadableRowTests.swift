import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// A row that this release cannot read spoils no page, and is named in it.
@Suite(.postgresSchema) struct UnreadableRowTests {
    private func execute(_ query: Query) async throws {
        let connection = try await TestDatabase.current.connection()
        _ = try await connection.execute(query)
        await connection.close()
    }

    @Test func sessionsAreListedWithoutIt() async throws {
        try await APIServer.run { server in
            for name in ["a", "b", "c"] { _ = try await server.session(name) }
            try await execute(
                """
                UPDATE session SET additional_headers = '{"of": ["the future"]}'
                WHERE identifier = 'b'
                """
            )
            let page = try await server.send("GET", "/v1/sessions")
                .json(Page<SessionDocument>.self)
            #expect(page.items.map(\.identifier) == ["a", "c"])
            #expect(page.unreadable == ["b"])
            // A page that has nothing else is followed by the others.
            var found: [String] = []
            var cursor: String? = ""
            while let place = cursor {
                let query = place.isEmpty ? "" : "&cursor=\(place)"
                let page = try await server.send("GET", "/v1/sessions?limit=1\(query)")
                    .json(Page<SessionDocument>.self)
                found += page.items.map(\.identifier)
                cursor = page.nextCursor
            }
            #expect(found == ["a", "c"])
        }
    }

    @Test func credentialsAreListedWithoutIt() async throws {
        try await APIServer.run { server in
            for name in ["a", "b"] {
                try await server.send(
                    "PUT",
                    "/v1/credentials/\(name)",
                    #"{"kind": "basic", "username": "me", "password": "s3cret"}"#
                )
            }
            try await execute(
                """
                UPDATE credential SET form = '{"of": ["the future"]}' WHERE name = 'a'
                """
            )
            let page = try await server.send("GET", "/v1/credentials")
                .json(Page<CredentialDocument>.self)
            #expect(page.items.map(\.name) == ["b"])
            #expect(page.unreadable == ["a"])
        }
    }

    @Test func subscriptionsAndDeliveriesAreListedWithoutIt() async throws {
        try await APIServer.run { server in
            var ids: [String] = []
            for _ in 0..<2 {
                let created = try await server.send(
                    "POST",
                    "/v1/subscriptions",
                    #"{"url": "https://receiver.example/"}"#
                )
                ids.append(try created.json(SubscriptionDocument.self).id)
            }
            try await execute(
                """
                UPDATE subscription SET headers = '{"of": ["the future"]}'
                WHERE id = \(ids[0])::text::uuid
                """
            )
            let page = try await server.send("GET", "/v1/subscriptions")
                .json(Page<SubscriptionDocument>.self)
            #expect(page.items.map(\.id) == [ids[1]])
            #expect(page.unreadable == [ids[0]])
            let session = try await server.session()
            for _ in 0..<2 { _ = try await server.submit(session) }
            try await execute(
                """
                INSERT INTO delivery_log (id, subscription_id, session_id, sequence, state, died_at)
                SELECT gen_random_uuid(), b.id, p.session_id, n, 'dead', now()
                FROM subscription b, session_progress p, generate_series(1, 2) n
                WHERE b.id = \(ids[1])::text::uuid
                """
            )
            try await execute(
                "UPDATE event_run SET kind = 'task.of_the_future' WHERE last_sequence = 2"
            )
            let log = try await server.send("GET", "/v1/subscriptions/\(ids[1])/deliveries")
                .json(Page<DeliveryDocument>.self)
            #expect(log.items.map(\.sequence) == [1])
            #expect(log.unreadable?.count == 1)
        }
    }

    @Test func eventsAreReadWithoutIt() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await server.submit(session) }
            try await execute(
                "UPDATE event_run SET kind = 'task.of_the_future' WHERE last_sequence = 2"
            )
            let page = try await server.send("GET", "\(session)/events").json(EventPage.self)
            #expect(page.items.map(\.data.sequence) == [1, 3])
            #expect(page.unreadable?.count == 1)
            #expect(page.next.hasSuffix(":3"))
            // A page that has nothing else is told at once, and followed by the others.
            let first = try await server.send("GET", "\(session)/events?limit=1")
                .json(EventPage.self)
            let second = try await server.send(
                "GET",
                "\(session)/events?limit=1&after=\(first.next)",
                fields: [("Prefer", "wait=60")]
            ).json(EventPage.self)
            #expect(second.items.isEmpty)
            #expect(second.unreadable == page.unreadable)
            #expect(second.hasMore)
            let third = try await server.send(
                "GET",
                "\(session)/events?limit=1&after=\(second.next)"
            ).json(EventPage.self)
            #expect(third.items.map(\.data.sequence) == [3])
            #expect(third.unreadable == nil)
        }
    }
}

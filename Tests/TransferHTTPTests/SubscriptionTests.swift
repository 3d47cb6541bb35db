import Testing
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct SubscriptionTests {
    @Test func showsItsSecretOnce() async throws {
        try await APIServer.run { server in
            let created = try await server.send(
                "POST",
                "/v1/subscriptions",
                #"""
                {"url": "https://receiver.example/hook", "session_identifier": "photos",
                 "event_types": ["task.completed", "session.events_finished"]}
                """#
            )
            #expect(created.status == 201)
            let subscription = try created.json(SubscriptionDocument.self)
            #expect(subscription.secret?.hasPrefix("whsec_") == true)
            let location = try #require(created.fields["location"])
            let read = try await server.send("GET", location)
            #expect(!read.text.contains("whsec_"))
            let again = try read.json(SubscriptionDocument.self)
            #expect(again.id == subscription.id)
            #expect(again.createdAt == subscription.createdAt)
            #expect(again.sessionIdentifier == "photos")
            #expect(again.eventTypes == ["task.completed", "session.events_finished"])
            let list = try await server.send("GET", "/v1/subscriptions")
            #expect(!list.text.contains("whsec_"))
            #expect(try await server.send("DELETE", location).status == 204)
            #expect(try await server.send("DELETE", location).code == .unknownSubscription)
            #expect(try await server.send("GET", location).code == .unknownSubscription)
        }
    }

    @Test func pagesInOrderOfCreation() async throws {
        try await APIServer.run { server in
            for number in 0..<5 {
                try await server.send(
                    "POST",
                    "/v1/subscriptions",
                    #"{"url": "http://receiver.example/\#(number)"}"#
                )
            }
            var urls: [String] = []
            var next: String? = ""
            while let cursor = next {
                let query = cursor.isEmpty ? "" : "&cursor=\(cursor)"
                let page = try await server.send("GET", "/v1/subscriptions?limit=2\(query)")
                    .json(Page<SubscriptionDocument>.self)
                urls += page.items.map(\.url)
                next = page.nextCursor
            }
            #expect(Set(urls).count == 5)
            #expect(urls.count == 5)
        }
    }

    @Test func invalidOnesAreRefusedWithTheirPlace() async throws {
        try await APIServer.run { server in
            let table: [(String, String)] = [
                ("{}", "/url required"),
                (#"{"url": "receiver.example"}"#, "/url invalid_url"),
                (#"{"url": "http://u:p@receiver.example/"}"#, "/url invalid_url"),
                (#"{"url": "http://receiver.example/#f"}"#, "/url invalid_url"),
                (
                    #"{"url": "http://r.example/", "session_identifier": "a\u0000"}"#,
                    "/session_identifier invalid_identifier"
                ),
                (
                    #"{"url": "http://r.example/", "session_identifier": ""}"#,
                    "/session_identifier invalid_identifier"
                ),
                (
                    #"{"url": "http://r.example/", "event_types": ["task.done"]}"#,
                    "/event_types/0 invalid_value"
                ),
                (#"{"url": "http://r.example/", "event_types": []}"#, "/event_types no_items"),
                (
                    #"{"url": "http://r.example/", "event_types": [1]}"#,
                    "/event_types/0 wrong_type"
                ),
                (#"{"url": "http://r.example/", "secret": "x"}"#, "/secret unknown_field"),
            ]
            for (body, fault) in table {
                let answer = try await server.send("POST", "/v1/subscriptions", body)
                #expect(answer.status == 422, "\(body)")
                #expect(answer.faults == [fault], "\(body)")
            }
            let page = try await server.send("GET", "/v1/subscriptions")
            #expect(page.text == #"{"items":[]}"#)
        }
    }
}

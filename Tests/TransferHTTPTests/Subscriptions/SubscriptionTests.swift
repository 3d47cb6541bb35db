import Foundation
import Testing
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct SubscriptionTests {
    @Test func aSubscriptionSaysWhatItsMessagesHold() async throws {
        try await APIServer.run { server in
            let body = #"{"url": "http://a.example/", "delivery_form": "batch"}"#
            let created = try await server.send("POST", "/v1/subscriptions", body)
                .json(SubscriptionDocument.self)
            #expect(created.deliveryForm == "batch")
            let path = "/v1/subscriptions/\(created.id)"
            let same = try await server.send("PATCH", path, "{}").json(SubscriptionDocument.self)
            #expect(same.deliveryForm == "batch")
            let changed = try await server.send("PATCH", path, #"{"delivery_form": "single"}"#)
                .json(SubscriptionDocument.self)
            #expect(changed.deliveryForm == "single")
            #expect(!changed.wakeUpThrottling)
            let throttled = try await server.send("PATCH", path, #"{"wake_up_throttling": true}"#)
                .json(SubscriptionDocument.self)
            #expect(throttled.wakeUpThrottling)
            #expect(throttled.deliveryForm == "single")
            for (method, path) in [("PATCH", path), ("POST", "/v1/subscriptions")] {
                let body = #"{"url": "http://a.example/", "delivery_form": "Batch"}"#
                let answer = try await server.send(method, path, body)
                #expect(answer.faults == ["/delivery_form invalid_value"])
            }
        }
    }

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
                (
                    #"{"url": "http://r.example/", "event_types": ["task.*", "task.*"]}"#,
                    "/event_types/1 invalid_value"
                ),
                (#"{"url": "http://r.example/", "concurrency": 17}"#, "/concurrency invalid_value"),
                (#"{"url": "http://r.example/", "rate_limit": 0}"#, "/rate_limit invalid_value"),
                (
                    #"{"url": "http://r.example/", "ack_timeout_seconds": 0}"#,
                    "/ack_timeout_seconds invalid_value"
                ),
                (
                    #"{"url": "http://r.example/", "description": "\u0000"}"#,
                    "/description invalid_value"
                ),
                (
                    #"{"url": "http://r.example/", "headers": {"Webhook-Id": "1"}}"#,
                    "/headers/Webhook-Id forbidden_header"
                ),
                (
                    #"{"url": "http://r.example/", "headers": {"content-type": "a/b"}}"#,
                    "/headers/content-type forbidden_header"
                ),
                (
                    #"{"url": "http://r.example/", "headers": {"Content-Encoding": "gzip"}}"#,
                    "/headers/Content-Encoding forbidden_header"
                ),
                (
                    #"{"url": "http://r.example/", "headers": {"Content-Length": "3"}}"#,
                    "/headers/Content-Length forbidden_header"
                ),
                (
                    #"{"url": "http://r.example/", "headers": {"X": "a\r\nY: b"}}"#,
                    "/headers/X invalid_header"
                ),
                (
                    """
                    {"url": "http://r.example/",
                     "headers": {"X": "\(String(repeating: "v", count: 8193))"}}
                    """,
                    "/headers/X invalid_header"
                ),
            ]
            for (body, fault) in table {
                let answer = try await server.send("POST", "/v1/subscriptions", body)
                #expect(answer.status == 422, "\(body)")
                #expect(answer.faults == [fault], "\(body)")
            }
            let page = try await server.send("GET", "/v1/subscriptions")
            #expect(page.text == #"{"items":[],"has_more":false}"#)
        }
    }

    @Test(arguments: [
        "http://127.0.0.1/", "http://127.1:9000/", "http://2130706433/", "http://0x7f.1/",
        "http://0177.0.0.1/", "http://10.1.2.3/", "http://169.254.169.254/latest/", "http://[::1]/",
        "http://[::ffff:10.0.0.1]/", "http://[fd00::1]/", "http://localhost/",
        "https://api.LOCALHOST:8080/", "http://0/",
    ])
    func addressesThatAreNeverReachedAreRefusedAtOnce(url: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send(
                "POST",
                "/v1/subscriptions",
                #"{"url": "\#(url)"}"#
            )
            #expect(answer.status == 422)
            #expect(answer.faults == ["/url forbidden_address"])
            let location = try await Self.subscribe(server)
            let change = try await server.send("PATCH", location, #"{"url": "\#(url)"}"#)
            #expect(change.faults == ["/url forbidden_address"])
        }
    }

    @Test func addressesThatMayBeReachedAreTaken() async throws {
        try await APIServer.run { server in
            for url in [
                "http://8.8.8.8/", "http://[2606:4700::1111]/", "http://localhost.example/",
            ] {
                let body = #"{"url": "\#(url)"}"#
                let answer = try await server.send("POST", "/v1/subscriptions", body)
                #expect(answer.status == 201)
            }
        }
    }

    @Test func patchesWhatItNamesAndNothingElse() async throws {
        try await APIServer.run { server in
            let location = try await Self.subscribe(
                server,
                #"""
                {"url": "https://receiver.example/hook", "event_types": ["task.*"],
                 "description": "for Anna", "headers": {"X-Key": "canary-7"}, "concurrency": 2,
                 "rate_limit": 50}
                """#
            )
            func read() async throws -> SubscriptionDocument {
                let answer = try await server.send("GET", location)
                #expect(!answer.text.contains("canary"))
                return try answer.json(SubscriptionDocument.self)
            }
            let before = try await read()
            #expect(before.eventTypes == ["task.*"])
            #expect(before.description == "for Anna")
            #expect(before.headerNames == ["X-Key"])
            #expect(before.concurrency == 2)
            #expect(before.rateLimit == 50)
            #expect(before.enabled)
            #expect(try await server.send("PATCH", location, "{}").status == 200)
            #expect(try await read().description == "for Anna")
            let noURL = try await server.send("PATCH", location, #"{"url": null}"#)
            #expect(noURL.status == 422)
            #expect(noURL.faults == ["/url wrong_type"])

            let wakes = server.wakes.value
            let disabled = try await server.send("PATCH", location, #"{"enabled": false}"#)
                .json(SubscriptionDocument.self)
            #expect(!disabled.enabled)
            #expect(disabled.disabled?.reason == "client")
            #expect(server.wakes.value == wakes + 1)
            // Disabled once more, it counts as disabled since the first time.
            _ = try await server.send("PATCH", location, #"{"enabled": false}"#)
            #expect(try await read().disabled == disabled.disabled)

            let cleared = try await server.send(
                "PATCH",
                location,
                #"""
                {"url": "https://receiver.example/other", "event_types": null, "description": null,
                 "headers": null, "concurrency": null, "rate_limit": null, "enabled": true}
                """#
            ).json(SubscriptionDocument.self)
            #expect(cleared.url == "https://receiver.example/other")
            #expect(cleared.eventTypes == nil)
            #expect(cleared.description == nil)
            #expect(cleared.headerNames == nil)
            #expect(cleared.concurrency == nil)
            #expect(cleared.rateLimit == nil)
            #expect(cleared.enabled)
            #expect(try await read().url == "https://receiver.example/other")
            let foreign = try await server.send("PATCH", location, "{}", as: server.second)
            #expect(foreign.code == .unknownSubscription)
        }
    }

    @Test func nullResetsToTheDefault() async throws {
        try await APIServer.run { server in
            let location = try await Self.subscribe(
                server,
                #"""
                {"url": "https://receiver.example/", "enabled": false, "ack_timeout_seconds": 7,
                 "delivery_form": "batch", "wake_up_throttling": true}
                """#
            )
            let reset = try await server.send(
                "PATCH",
                location,
                #"""
                {"enabled": null, "ack_timeout_seconds": null, "delivery_form": null,
                 "wake_up_throttling": null}
                """#
            ).json(SubscriptionDocument.self)
            #expect(reset.enabled)
            #expect(reset.ackTimeoutSeconds == 600)
            #expect(reset.deliveryForm == "single")
            #expect(!reset.wakeUpThrottling)
        }
    }

    @Test func rotatesItsSecretOncePerIdempotencyKey() async throws {
        try await APIServer.run { server in
            let location = try await Self.subscribe(server)
            let path = "\(location)/rotate-secret"
            let key = [("Idempotency-Key", "one")]
            let first = try await server.send("POST", path, fields: key)
            #expect(first.status == 200)
            let secret = try first.json(SigningSecretDocument.self)
            #expect(secret.secret.hasPrefix("whsec_"))
            #expect(secret.previousSecretsExpireAt != nil)
            #expect(try await server.send("POST", path, fields: key).text == first.text)
            let other = try await server.send("POST", path, "{}", fields: key)
            #expect(other.code == .idempotencyKeyReused)
            for _ in 0..<8 { #expect(try await server.send("POST", path).status == 200) }
            #expect(try await server.send("POST", path).code == .tooManySecrets)
            let alone = try await server.send("POST", path, #"{"overlap_seconds": 0}"#)
                .json(SigningSecretDocument.self)
            #expect(alone.previousSecretsExpireAt == nil)
            for body in [#"{"overlap_seconds": -1}"#, #"{"overlap_seconds": 604801}"#] {
                let answer = try await server.send("POST", path, body)
                #expect(answer.faults == ["/overlap_seconds invalid_value"])
            }
            let foreign = try await server.send("POST", path, as: server.second)
            #expect(foreign.code == .unknownSubscription)
        }
    }

    /// The clock of this process is an hour behind.
    @Test func theOverlapOfSecretsIsByTheClockOfTheDatabase() async throws {
        let pool = try await TestDatabase.current.poolAnHourAhead()
        try await APIServer.run(stores: Stores(Database(pool: pool))) { server in
            let path = "\(try await Self.subscribe(server))/rotate-secret"
            let answer = try await server.send("POST", path, #"{"overlap_seconds": 1800}"#)
                .json(SigningSecretDocument.self)
            let expiry = try #require(answer.previousSecretsExpireAt).date
            #expect((4800...5400).contains(expiry.timeIntervalSinceNow))
        }
    }

    /// Creates a subscription and returns its path.
    static func subscribe(
        _ server: APIServer,
        _ body: String = #"{"url": "https://receiver.example/"}"#
    ) async throws -> String {
        let created = try await server.send("POST", "/v1/subscriptions", body)
        return try #require(created.fields["location"])
    }
}

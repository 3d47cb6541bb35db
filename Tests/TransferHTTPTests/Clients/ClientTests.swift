import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct ClientTests {
    @Test func isCreatedOnceAndFoundAfterwards() async throws {
        try await APIServer.run { server in
            let created = try await server.send(
                "PUT",
                "/v1/clients/share",
                #"{"kind": "extension"}"#
            )
            #expect(created.status == 201)
            #expect(created.fields["location"] == "/v1/clients/share")
            #expect(try await server.send("PUT", "/v1/clients/share").status == 200)
            let other = try await server.send("PUT", "/v1/clients/share", #"{"kind": "app"}"#)
            #expect(other.code == .clientKindDiffers)
            let client = try await server.send("GET", "/v1/clients/share")
                .json(ClientDocument.self)
            #expect(client.kind == "extension")
            #expect(client.lifecycle == "active")
            #expect(try await server.send("GET", "/v1/clients/absent").code == .unknownClient)
            let foreign = try await server.send("GET", "/v1/clients/share", as: server.second)
            #expect(foreign.code == .unknownClient)
            let page = try await server.send("GET", "/v1/clients?limit=1")
                .json(Page<ClientDocument>.self)
            #expect(page.items.map(\.identifier) == ["default"])
            let rest = try await server.send(
                "GET",
                "/v1/clients?cursor=\(try #require(page.nextCursor))"
            ).json(Page<ClientDocument>.self)
            #expect(rest.items.map(\.identifier) == ["share"])
        }
    }

    @Test func isRemovedWithAllItOwns() async throws {
        try await APIServer.run { server in
            let path = "/v1/clients/share"
            try await server.send("PUT", path)
            try await server.send("PUT", "/v1/sessions/s?client=share")
            let begun = try await server.send("DELETE", path)
            #expect(begun.status == 202)
            #expect(begun.fields["location"] == path)
            #expect(try begun.json(ClientDocument.self).removedAt != nil)
            #expect(try await server.send("DELETE", path).status == 202)
            let seen = try await server.send("GET", path).json(ClientDocument.self)
            #expect(seen.removedAt != nil && seen.lifecycle == "force_quit")
            #expect(try await server.send("PUT", path).code == .clientRemoved)
            #expect(try await server.send("POST", "\(path)/launch").code == .clientRemoved)
            let made = try await server.send("PUT", "/v1/sessions/t?client=share")
            #expect(made.code == .unknownClient)
            let foreign = try await server.send("DELETE", path, as: server.second)
            #expect(foreign.code == .unknownClient)
            for _ in 0..<20 where try await !server.stores.removalTurn() {}
            #expect(try await server.send("GET", path).code == .unknownClient)
            #expect(try await server.send("DELETE", path).code == .unknownClient)
            #expect(try await server.send("PUT", path).status == 201)
            let sessions = try await server.send("GET", "/v1/sessions?client=share")
            #expect(sessions.text == #"{"items":[],"has_more":false}"#)
            let feed = try await server.send("GET", "/v1/events").json(EventPage.self)
            let told = try #require(feed.items.first { $0.type == "client.removed" })
            #expect(told.data.client == nil && told.data.removedClient?.client == "share")
        }
    }

    @Test func theDefaultOneStays() async throws {
        try await APIServer.run { server in
            let answer = try await server.send("DELETE", "/v1/clients/default")
            #expect(answer.code == .clientNotRemovable)
            #expect(try await server.send("GET", "/v1/clients/default").status == 200)
        }
    }

    @Test(arguments: ["a%20b", "%00", "a%2Fb", String(repeating: "x", count: 65), "é"])
    func aNameNeedsNoEscapes(name: String) async throws {
        try await APIServer.run { server in
            let path = name == "é" ? "%C3%A9" : name
            let answer = try await server.send("PUT", "/v1/clients/\(path)")
            #expect(answer.faults == ["client invalid_identifier"])
            let session = try await server.send("GET", "/v1/sessions/a?client=\(path)")
            #expect(session.faults == ["client invalid_identifier"])
        }
    }

    @Test func itsSessionsAreItsOwn() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/clients/share")
            let made = try await server.send("PUT", "/v1/sessions/p%20s?client=share")
            #expect(made.status == 201)
            #expect(made.fields["location"] == "/v1/sessions/p%20s?client=share")
            #expect(try made.json(SessionDocument.self).client == "share")
            #expect(try await server.send("GET", "/v1/sessions/p%20s").code == .unknownSession)
            let batch = try await server.send(
                "POST",
                "/v1/sessions/p%20s/tasks?client=share",
                #"[{"url": "http://origin.example/a"}]"#
            )
            #expect(batch.fields["location"] == "/v1/sessions/p%20s/tasks?client=share")
            let tasks = try await server.send("GET", try #require(batch.fields["location"]))
                .json(Page<TaskDocument>.self)
            #expect(tasks.items.map(\.client) == ["share"])
            let events = try await server.send("GET", "/v1/sessions/p%20s/events?client=share")
                .json(EventPage.self)
            #expect(events.items.map(\.data.client) == ["share"])
            let patch = #"{"configuration": {"timeout_for_request": 2}}"#
            let changed = try await server.send("PATCH", "/v1/sessions/p%20s?client=share", patch)
            #expect(changed.status == 200)
            let all = try await server.send("GET", "/v1/sessions").json(Page<SessionDocument>.self)
            #expect(all.items.map(\.client) == ["share"])
            let own = try await server.send("GET", "/v1/sessions?client=default")
            #expect(own.text == #"{"items":[],"has_more":false}"#)
            let ended = try await server.send("DELETE", "/v1/sessions/p%20s?client=share")
            #expect(ended.status == 204)
        }
    }

    @Test func linksOfItsEventsLeadToIt() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/clients/share")
            try await server.send("PUT", "/v1/sessions/a?client=share")
            let task = try await server.send(
                "POST",
                "/v1/sessions/a/tasks?client=share",
                #"{"url": "http://origin.example/a"}"#
            ).json(TaskReceipt.self)
            try await server.send("POST", "/v1/tasks/\(task.id)/cancel")
            let events = try await server.send("GET", "/v1/sessions/a/events?client=share")
                .json(EventPage.self)
            let link = try #require(events.items.last?.data.failedTasksURL)
            #expect(link == "/v1/sessions/a/tasks?client=share&state=failed")
            #expect(try await server.send("GET", link).status == 200)
        }
    }

    @Test func anUnknownClientHasNoSessions() async throws {
        try await APIServer.run { server in
            for (method, path, body) in [
                ("PUT", "", nil), ("GET", "", nil), ("PATCH", "", "{}"), ("DELETE", "", nil),
                ("POST", "/tasks", #"{"url": "http://origin.example/a"}"#), ("GET", "/tasks", nil),
                ("GET", "/events", nil), ("POST", "/events/ack", #"{"ack_token": "a"}"#),
            ] as [(String, String, String?)] {
                let address = "/v1/sessions/a\(path)?client=absent"
                let answer = try await server.send(method, address, body)
                #expect(answer.code == .unknownClient, "\(method) \(address)")
            }
        }
    }

    @Test func aForceQuitHoldsUntilTheLaunch() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/clients/share")
            try await server.send("PUT", "/v1/sessions/a?client=share")
            let body = #"{"url": "http://origin.example/a"}"#
            let tasks = "/v1/sessions/a/tasks?client=share"
            let task = try await server.send("POST", tasks, body).json(TaskReceipt.self)
            let quit = try await server.send("POST", "/v1/clients/share/force-quit")
            #expect(try quit.json(ClientDocument.self).lifecycle == "force_quit")
            let cancelled = try await server.send("GET", "/v1/tasks/\(task.id)")
                .json(TaskDocument.self)
            #expect(cancelled.state == "cancelled")
            #expect(cancelled.error?.code == "user_force_quit")
            #expect(cancelled.error?.isRetryable == false)
            let key = [("Idempotency-Key", "\"again\"")]
            let refused = try await server.send("POST", tasks, body, fields: key)
            #expect(refused.code == .clientForceQuit)
            let background = try await server.send("POST", "/v1/clients/share/background")
            #expect(background.code == .clientForceQuit)
            let launched = try await server.send("POST", "/v1/clients/share/launch")
            #expect(try launched.json(ClientDocument.self).lifecycle == "active")
            // The key does not stand for a refused request.
            #expect(try await server.send("POST", tasks, body, fields: key).status == 202)
            let away = try await server.send("POST", "/v1/clients/share/background")
            #expect(try away.json(ClientDocument.self).lifecycle == "background")
            for step in ["launch", "background", "force-quit"] {
                let answer = try await server.send("POST", "/v1/clients/absent/\(step)")
                #expect(answer.code == .unknownClient)
            }
        }
    }

    @Test func aSessionThatFinishesTakesNothingAndEndsWithItsLastTask() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.submit(session)
            let answer = try await server.send("POST", "\(session)/finish")
            #expect(answer.status == 202)
            #expect(answer.fields["location"] == session)
            let body = #"{"url": "http://origin.example/a"}"#
            #expect(
                try await server.send("POST", "\(session)/tasks", body).code == .sessionFinishing
            )
            let document = try await server.send("PUT", session).json(SessionDocument.self)
            #expect(document.isFinishing)
            try await server.send("POST", "/v1/tasks/\(task)/cancel")
            #expect(try await server.send("POST", "\(session)/finish").code == .unknownSession)
            #expect(try await server.send("PUT", session).status == 201)
            #expect(try await server.send("POST", "\(session)/finish").status == 204)
            #expect(try await server.send("PUT", session).status == 201)
            #expect(try await server.send("POST", "\(session)/invalidate").status == 204)
            #expect(try await server.send("GET", session).code == .unknownSession)
        }
    }

    @Test func aSubscriptionNamesItsClient() async throws {
        try await APIServer.run { server in
            func subscribe(_ fields: String) async throws -> SubscriptionDocument {
                try await server.send(
                    "POST",
                    "/v1/subscriptions",
                    #"{"url": "http://receiver.example/"\#(fields)}"#
                ).json(SubscriptionDocument.self)
            }
            #expect(try await subscribe("").client == nil)
            #expect(try await subscribe(#", "client": "share""#).client == "share")
            let session = try await subscribe(#", "session_identifier": "a""#)
            #expect(session.client == "default")
            let answer = try await server.send(
                "POST",
                "/v1/subscriptions",
                #"{"url": "http://receiver.example/", "client": "a b"}"#
            )
            #expect(answer.faults == ["/client invalid_identifier"])
        }
    }
}

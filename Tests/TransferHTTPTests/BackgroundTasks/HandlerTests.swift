import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct HandlerTests {
    private static let path = "/v1/background-tasks/handlers"

    @Test func isRegisteredOnceAndRemoved() async throws {
        try await APIServer.run { server in
            try await server.register([])
            let body = #"{"kind": "processing", "has_expiration_handler": false}"#
            let made = try await server.send("PUT", "\(Self.path)/db.cleaning", body)
            #expect(made.status == 201)
            #expect(made.fields["location"] == "\(Self.path)/db.cleaning")
            let again = try await server.send("PUT", "\(Self.path)/db.cleaning", body)
            #expect(again.code == .handlerRegistered)
            let found = try await server.send("GET", "\(Self.path)/db.cleaning")
                .json(HandlerDocument.self)
            #expect(found.kind == "processing")
            #expect(!found.hasExpirationHandler)
            let all = try await server.send("GET", Self.path).json(Page<HandlerDocument>.self)
            #expect(all.items.map(\.identifier) == ["db.cleaning"])
            #expect(try await server.send("DELETE", "\(Self.path)/db.cleaning").status == 204)
            let gone = try await server.send("DELETE", "\(Self.path)/db.cleaning")
            #expect(gone.code == .unknownHandler)
            #expect(try await server.send("PUT", "\(Self.path)/db.cleaning", body).status == 201)
        }
    }

    @Test func onlyPermittedIdentifiersAreRegistered() async throws {
        try await APIServer.run { server in
            let body = #"{"kind": "app_refresh"}"#
            let early = try await server.send("PUT", "\(Self.path)/feed.refresh", body)
            #expect(early.code == .notPermitted)
            #expect(early.status == 403)
            try await server.send(
                "PATCH",
                "/v1/tenant/background-settings",
                #"{"permitted_identifiers": ["feed.*", "db_cleaning"]}"#
            )
            for (identifier, status) in [
                ("feed.refresh", 201), ("feed.", 201), ("feed", 403), ("Feed.refresh", 403),
                ("db_cleaning", 201), ("db_cleaning2", 403), ("dbxcleaning", 403),
            ] {
                let answer = try await server.send("PUT", "\(Self.path)/\(identifier)", body)
                #expect(answer.status == status, "\(identifier)")
            }
            let foreign = try await server.send(
                "PUT",
                "\(Self.path)/feed.refresh",
                body,
                as: server.second
            )
            #expect(foreign.code == .notPermitted)
        }
    }

    @Test func theRemovalCancelsThePendingRequest() async throws {
        try await APIServer.run { server in
            try await server.register()
            try await server.request()
            try await server.send("DELETE", "\(Self.path)/refresh")
            #expect(try await server.pending().isEmpty)
            #expect(try await server.request().code == .notPermitted)
            let next = try await server.stores.timers.untilNextTimer()
            #expect(next == nil)
        }
    }

    @Test func aClientRegistersABoundedNumber() async throws {
        try await APIServer.run { server in
            try await server.register((0..<Quota.handlersMax).map { ("a\($0)", "processing") })
            let more = try await server.send(
                "PUT",
                "\(Self.path)/more",
                #"{"kind": "processing"}"#
            )
            #expect(more.code == .quotaExceeded)
        }
    }

    @Test func whatMakesNoSenseIsNamed() async throws {
        try await APIServer.run { server in
            try await server.register([])
            let kind = try await server.send("PUT", "\(Self.path)/a", #"{"kind": "daily"}"#)
            #expect(kind.faults == ["/kind invalid_value"])
            let name = try await server.send("PUT", "\(Self.path)/a%20b", #"{"kind": "daily"}"#)
            #expect(name.faults == ["identifier invalid_identifier"])
            let absent = try await server.send(
                "PUT",
                "\(Self.path)/a?client=absent",
                #"{"kind": "processing"}"#
            )
            #expect(absent.code == .unknownClient)
            for (body, fault) in [
                (#"{"capacity": "full"}"#, "/capacity invalid_value"),
                (#"{"assertion_budget_seconds": 1}"#, "/assertion_budget_seconds invalid_value"),
                (#"{"permitted_identifiers": ["a b"]}"#, "/permitted_identifiers/0 invalid_value"),
                (#"{"permitted_identifiers": ["a*b"]}"#, "/permitted_identifiers/0 invalid_value"),
            ] {
                let path = "/v1/tenant/background-settings"
                #expect(try await server.send("PATCH", path, body).faults == [fault])
            }
        }
    }
}

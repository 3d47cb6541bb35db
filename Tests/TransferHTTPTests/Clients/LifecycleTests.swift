import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct LifecycleTests {
    private static let client = "/v1/clients/default"

    @Test func aClientInTheBackgroundIsSuspendedAfterItsGrace() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            try await server.send("POST", "\(Self.client)/background")
            try await clock.pass(until: 4.9, before: .graceEnd)
            #expect(try await server.lifecycle() == "background")
            try await clock.pass(until: -1, before: .graceEnd)
            #expect(try await server.lifecycle() == "suspended")
            try await server.send("POST", "\(Self.client)/launch")
            #expect(
                try await server.clientEvents().map(\.brief) == [
                    "active > background: requested",
                    "background > suspended: grace_ended",
                    "suspended > active: requested",
                ]
            )
        }
    }

    @Test func aLaunchWithinTheGraceKeepsTheClientActive() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            try await server.send("POST", "\(Self.client)/background")
            try await clock.pass(3)
            try await server.send("POST", "\(Self.client)/launch")
            try await clock.pass(10)
            #expect(try await server.lifecycle() == "active")
            let next = try await server.stores.timers.untilNextTimer()
            #expect(next == nil)
        }
    }

    @Test func whatChangesNothingIsNoEvent() async throws {
        try await APIServer.run { server in
            for verb in ["launch", "background", "terminate", "force-quit"] {
                for _ in 0..<2 {
                    let answer = try await server.send("POST", "\(Self.client)/\(verb)")
                    #expect(answer.status == 200)
                }
            }
            #expect(
                try await server.clientEvents().map(\.brief) == [
                    "active > background: requested",
                    "background > terminated: requested",
                    "terminated > force_quit: requested",
                ]
            )
        }
    }

    @Test func anOperatorSuspendsAndTerminates() async throws {
        try await APIServer.run { server in
            let suspended = try await server.send("POST", "\(Self.client)/suspend")
            #expect(try suspended.json(ClientDocument.self).lifecycle == "suspended")
            let terminated = try await server.send("POST", "\(Self.client)/terminate")
            #expect(try terminated.json(ClientDocument.self).lifecycle == "terminated")
            let again = try await server.send("POST", "\(Self.client)/suspend")
            #expect(again.code == .clientNotRunning)
            try await server.send("POST", "\(Self.client)/force-quit")
            for verb in ["suspend", "terminate", "background"] {
                let answer = try await server.send("POST", "\(Self.client)/\(verb)")
                #expect(answer.code == .clientForceQuit, "\(verb)")
            }
            #expect(
                try await server.send("POST", "/v1/clients/absent/suspend").code == .unknownClient
            )
            let foreign = try await server.send("POST", "/v1/clients/absent/terminate")
            #expect(foreign.code == .unknownClient)
        }
    }

    @Test func itsEventsArePagesOfItsOwnLog() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/clients/share")
            try await server.send("POST", "/v1/clients/share/background")
            try await server.send("POST", "/v1/clients/share/launch")
            let first = try await server.send("GET", "/v1/clients/share/events?limit=1")
                .json(EventPage.self)
            #expect(first.items.map(\.data.client) == ["share"])
            #expect(first.items.map(\.data.sessionIdentifier) == [nil])
            #expect(first.items.map(\.data.sessionID) == [nil])
            let rest = try await server.send(
                "GET",
                "/v1/clients/share/events?after=\(first.next)"
            ).json(EventPage.self)
            #expect(rest.items.map(\.data.sequence) == [2])
            // The client's document names the position of the last one.
            let client = try await server.send("GET", "/v1/clients/share")
                .json(ClientDocument.self)
            #expect(rest.next == "\(client.id):\(client.lastEventSequence)")
            #expect(try await server.clientEvents().isEmpty)
            // A log without an event has no position but the first.
            let fresh = try await server.send("PUT", "/v1/clients/fresh").json(ClientDocument.self)
            let beyond = try await server.send(
                "GET",
                "/v1/clients/fresh/events?after=\(fresh.id):5"
            )
            #expect(beyond.code == .eventsExpired)
            let foreign = try await server.send(
                "GET",
                "/v1/clients/share/events",
                as: server.second
            )
            #expect(foreign.code == .unknownClient)
        }
    }

    @Test func itsEventsAreAStreamToo() async throws {
        try await APIServer.run { server in
            let stream = try server.stream("\(Self.client)/events")
            try await server.send("POST", "\(Self.client)/background")
            try await eventually("the move is told") { stream.events.count == 1 }
            try await server.send("POST", "\(Self.client)/launch")
            try await eventually("the launch is told") { stream.events.count == 2 }
            #expect(
                stream.events.map(\.type) == Array(repeating: "client.lifecycle_changed", count: 2)
            )
        }
    }

    @Test func subscriptionsOfTheTenantAndTheClientAreWoken() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/clients/share")
            for client in [nil, "share", "default"] {
                let scope = client.map { #", "client": "\#($0)""# } ?? ""
                let body = #"{"url": "https://receiver.example/a"\#(scope)}"#
                #expect(try await server.send("POST", "/v1/subscriptions", body).status == 201)
            }
            try await server.send("POST", "/v1/clients/share/background")
            let connection = try await TestDatabase.current.connection()
            let rows = try await connection.execute(
                """
                SELECT coalesce(b.client, 'all') AS client FROM delivery d
                JOIN subscription b ON b.id = d.subscription_id
                JOIN client c ON c.id = d.session_id
                WHERE d.due_at IS NOT NULL AND c.identifier = 'share' ORDER BY 1
                """
            )
            #expect(try rows.map { try $0.decode("client", as: String.self) } == ["all", "share"])
        }
    }
}

extension APIServer {
    /// Returns a clock that moves what is due in this server's schema.
    func clock() async throws -> BackgroundClock {
        BackgroundClock(stores, try await TestDatabase.current.connection())
    }

    func lifecycle(of client: String = "default") async throws -> String {
        try await send("GET", "/v1/clients/\(client)").json(ClientDocument.self).lifecycle
    }

    func clientEvents(of client: String = "default") async throws -> [EventMessage] {
        try await send("GET", "/v1/clients/\(client)/events").json(EventPage.self).items
    }
}

extension EventMessage {
    /// What happened, in a few words.
    var brief: String {
        if let move = data.lifecycle { return "\(move.from) > \(move.to): \(move.reason)" }
        if let assertion = data.assertion { return "\(type) \(assertion.name)" }
        return type
    }
}

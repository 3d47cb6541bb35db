import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Who has accepted a launch, and what follows when nobody has.
@Suite(.postgresSchema) struct RunAcceptanceTests {
    @Test func aResponseOfASubscriberAcceptsIt() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            try await server.subscribeToLaunches()
            let run = try await server.launch("clean")
            #expect(run.state == "launched")
            try await server.deliver()
            #expect(try await server.run(run.id).state == "running")
            try await server.clock().pass(61)
            #expect(try await server.runs().map(\.state) == ["running"])
            #expect(try await server.run(run.id).acceptedAt != nil)
        }
    }

    @Test func aMessageThatWasGivenUpDoesNot() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            try await server.subscribeToLaunches()
            let run = try await server.launch("clean")
            try await server.deliver(isGivenUp: true)
            #expect(try await server.run(run.id).state == "launched")
            let clock = try await server.clock()
            try await clock.pass(61)
            #expect(try await server.run(run.id).state == "not_accepted")
            try await clock.pass(31)
            #expect(try await server.runs().map(\.state) == ["launched", "not_accepted"])
        }
    }

    @Test func aLaunchThatNobodyAcceptedDoesNotCountForTheInterval() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            let clock = try await server.clock()
            let weekly = #""min_interval_seconds": 604800"#
            _ = try await server.launch("clean", weekly)
            try await clock.pass(61)
            try await clock.pass(31)
            let run = try #require(try await server.runs().first)
            #expect(run.state == "launched")
            try await server.change(run.id, "complete", #"{"success": true}"#)
            try await server.request("clean", weekly)
            #expect(try await server.pending().map(\.waitsFor.reason) == ["interval"])
        }
    }

    @Test func isLaunchedAgainUntilSomebodyAccepts() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            let clock = try await server.clock()
            let first = try await server.launch("clean")
            try await clock.pass(61)
            #expect(try await server.run(first.id).state == "not_accepted")
            let wait = try #require(try await server.pending().first?.waitsFor)
            #expect(wait.reason == "relaunch")
            try await clock.pass(31)
            #expect(try await server.runs().map(\.state) == ["launched", "not_accepted"])
            // The pauses become longer.
            try await clock.pass(61)
            try await clock.pass(31)
            #expect(try await server.runs().count == 2)
            try await clock.pass(31)
            let third = try #require(try await server.runs().first)
            #expect(try await server.runs().count == 3)
            try await server.change(third.id, "complete", #"{"success": true}"#)
            try await clock.pass(10_000)
            #expect(try await server.runs().count == 3)
            #expect(try await server.pending().isEmpty)
        }
    }

    @Test func whatASubscriberHadTakenUpIsNotLaunchedAfterAForceQuit() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            try await server.subscribeToLaunches()
            _ = try await server.launch("clean")
            try await server.deliver()
            try await server.send("POST", "/v1/clients/default/force-quit")
            try await server.send("POST", "/v1/clients/default/launch")
            try await server.stores.advanceTimers()
            #expect(try await server.runs().map(\.state) == ["client_force_quit"])
        }
    }

    @Test func whatASubscriberHadTakenUpIsDoneWhenItExpires() async throws {
        try await APIServer.run { server in
            try await server.register([])
            try await server.send(
                "PUT",
                "/v1/background-tasks/handlers/refresh",
                #"{"kind": "app_refresh", "has_expiration_handler": false}"#
            )
            try await server.subscribeToLaunches()
            _ = try await server.launch()
            try await server.deliver()
            try await server.clock().pass(31)
            #expect(try await server.runs().map(\.state) == ["expired"])
            try await server.send("POST", "/v1/clients/default/force-quit")
            try await server.send("POST", "/v1/clients/default/launch")
            try await server.stores.advanceTimers()
            #expect(try await server.runs().map(\.state) == ["expired"])
        }
    }

    @Test func aForceQuitLeavesTheIntervalOfWhatNobodyAccepted() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            _ = try await server.launch("clean", #""min_interval_seconds": 604800"#)
            try await server.send("POST", "/v1/clients/default/force-quit")
            try await server.send("POST", "/v1/clients/default/launch")
            try await server.stores.advanceTimers()
            #expect(try await server.runs().map(\.state) == ["launched", "client_force_quit"])
        }
    }
}

extension APIServer {
    /// Makes a subscription that asks for launches alone.
    fileprivate func subscribeToLaunches() async throws {
        let made = try await send(
            "POST",
            "/v1/subscriptions",
            """
            {"url": "https://receiver.example/a", "event_types": ["background_task.launch"]}
            """
        )
        #expect(made.status == 201)
    }

    /// Acts as the dispatcher of webhooks, whose receiver has accepted the first message of each
    /// log, or whose last try has failed.
    fileprivate func deliver(isGivenUp: Bool = false) async throws {
        let identity = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "test")
        )
        let claims = try await stores.deliveries.claimDeliveries(
            identity.reserve(10),
            limit: 10,
            lease: .seconds(600)
        ).claims
        #expect(claims.count == 1)
        for claim in claims {
            guard isGivenUp else {
                _ = try await stores.deliveries.recordDelivered(
                    claim,
                    through: 1,
                    status: 200,
                    lease: .seconds(600)
                )
                continue
            }
            let attempt = DeliveryAttempt(
                at: .now,
                duration: .milliseconds(7),
                status: 500,
                reason: "http_status",
                answer: nil,
                isReplay: false
            )
            _ = try await stores.deliveries.recordDeliveryFailed(
                claim,
                sequence: 1,
                DeliverySetback(attempt: attempt, retryAfter: nil)
            )
        }
    }
}

import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Requests, from their submission to their launch, and what they wait for.
@Suite(.postgresSchema) struct BackgroundTaskRequestTests {
    @Test func isLaunchedAtItsDateAndNotBefore() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let date = Timestamp(Date(timeIntervalSinceNow: 900)).rfc3339
            let answer = try await server.request("refresh", #""earliest_begin_at": "\#(date)""#)
            #expect(answer.status == 201)
            #expect(answer.fields["location"] == "/v1/background-tasks/requests/refresh")
            let wait = try #require(try await server.pending().first?.waitsFor)
            #expect(wait.reason == "date")
            #expect(wait.until?.rfc3339 == date)
            try await clock.pass(890)
            #expect(try await server.runs().isEmpty)
            try await clock.pass(11)
            let run = try #require(try await server.runs().first)
            #expect(run.state == "launched")
            #expect(try await server.pending().isEmpty)
            let event = try #require(try await server.clientEvents().first)
            #expect(event.type == "background_task.launch")
            #expect(event.data.backgroundTask?.runID == run.id)
            #expect(event.data.backgroundTask?.deadline == run.deadlineAt)
        }
    }

    @Test func aSubmissionReplacesTheLast() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let date = Timestamp(Date(timeIntervalSinceNow: 900)).rfc3339
            try await server.request("refresh", #""earliest_begin_at": "\#(date)""#)
            let later = Timestamp(Date(timeIntervalSinceNow: 1800)).rfc3339
            try await server.request("refresh", #""earliest_begin_at": "\#(later)""#)
            #expect(try await server.pending().count == 1)
            try await clock.pass(1000)
            #expect(try await server.runs().isEmpty)
            try await clock.pass(900)
            #expect(try await server.runs().count == 1)
        }
    }

    @Test func aClientHasABoundedNumberPending() async throws {
        try await APIServer.run { server in
            try await server.register(
                [("a", "app_refresh"), ("b", "app_refresh")]
                    + (0...10).map { ("p\($0)", "processing") }
            )
            let date = Timestamp(Date(timeIntervalSinceNow: 900)).rfc3339
            let later = #""earliest_begin_at": "\#(date)""#
            #expect(try await server.request("a", later).status == 201)
            let more = try await server.request("b", later)
            #expect(more.code == .tooManyPendingTaskRequests)
            #expect(more.status == 429)
            for number in 0..<10 {
                #expect(try await server.request("p\(number)", later).status == 201)
            }
            #expect(try await server.request("p10", later).code == .tooManyPendingTaskRequests)
            // One that replaces another is no further one.
            #expect(try await server.request("p9", later).status == 201)
            #expect(try await server.pending().count == 11)
        }
    }

    @Test func cancelsOneOrAll() async throws {
        try await APIServer.run { server in
            try await server.register([("a", "processing"), ("b", "processing")])
            for identifier in ["a", "b"] { try await server.request(identifier) }
            let path = "/v1/background-tasks/requests"
            #expect(try await server.send("DELETE", "\(path)/a").status == 204)
            let again = try await server.send("DELETE", "\(path)/a")
            #expect(again.code == .unknownBackgroundTaskRequest)
            #expect(try await server.send("GET", "\(path)/a").code == .unknownBackgroundTaskRequest)
            #expect(try await server.pending().map(\.identifier) == ["b"])
            #expect(try await server.send("DELETE", path).status == 204)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().isEmpty)
            #expect(try await server.send("DELETE", "\(path)?client=no").code == .unknownClient)
        }
    }

    @Test func cancellingDoesNotStopARun() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.send("DELETE", "/v1/background-tasks/requests")
            #expect(
                try await server.change(run.id, "complete", #"{"success": true}"#).status == 200
            )
        }
    }

    @Test func needsAHandler() async throws {
        try await APIServer.run { server in
            try await server.register()
            let answer = try await server.request("other")
            #expect(answer.code == .notPermitted)
            #expect(answer.status == 403)
        }
    }

    @Test func isUnavailableWhileSwitchedOff() async throws {
        try await APIServer.run { server in
            try await server.register([("a", "processing"), ("b", "processing")])
            try await server.request("a")
            let settings = "/v1/tenant/background-settings"
            try await server.send("PATCH", settings, #"{"enabled": false}"#)
            #expect(try await server.request("b").code == .unavailable)
            try await server.stores.advanceTimers()
            #expect(try await server.pending().first?.waitsFor.reason == "disabled")
            try await server.send("PATCH", settings, #"{"enabled": true}"#)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 1)
        }
    }

    @Test func waitsForIdleCapacity() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            let settings = "/v1/tenant/background-settings"
            try await server.send("PATCH", settings, #"{"capacity": "busy"}"#)
            try await server.request("clean", #""requires_external_power": true"#)
            try await server.stores.advanceTimers()
            let wait = try #require(try await server.pending().first?.waitsFor)
            #expect(wait.reason == "capacity")
            #expect(wait.until == nil)
            try await server.send("PATCH", settings, #"{"capacity": "idle"}"#)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 1)
        }
    }

    @Test func waitsForTheNetwork() async throws {
        try await APIServer.run { server in
            try await server.register()
            try await server.request("refresh", #""requires_network_connectivity": true"#)
            try await server.stores.advanceTimers(hasNetwork: false)
            #expect(try await server.pending().first?.waitsFor.reason == "network")
            let released = try await server.stores.timers.releaseForNetwork()
            #expect(released == 1)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 1)
        }
    }

    @Test func waitsForTheRunOfItsIdentifier() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.request()
            try await server.stores.advanceTimers()
            #expect(try await server.pending().first?.waitsFor.reason == "run")
            #expect(try await server.runs().count == 1)
            try await server.change(run.id, "complete", #"{"success": true}"#)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().map(\.state) == ["launched", "succeeded"])
        }
    }

    @Test func waitsForTheLeastTimeSinceTheLastLaunch() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let weekly = #""min_interval_seconds": 604800"#
            let run = try await server.launch("refresh", weekly)
            try await server.change(run.id, "complete", #"{"success": true}"#)
            try await server.request("refresh", weekly)
            let wait = try #require(try await server.pending().first?.waitsFor)
            #expect(wait.reason == "interval")
            let until = try #require(wait.until).date
            #expect(abs(until.timeIntervalSince(run.launchedAt.date) - 604_800) < 0.01)
            try await clock.pass(604_000)
            #expect(try await server.runs().count == 1)
            try await clock.pass(801)
            #expect(try await server.runs().count == 2)
        }
    }

    @Test func waitsForABudgetOfRuns() async throws {
        try await APIServer.run { server in
            try await server.register((0..<11).map { ("p\($0)", "processing") })
            for number in 0..<11 {
                try await server.request("p\(number)")
                try await server.stores.advanceTimers()
            }
            #expect(try await server.runs().count == 10)
            #expect(try await server.pending().map(\.waitsFor.reason) == ["budget"])
            let run = try #require(try await server.runs().first)
            try await server.change(run.id, "complete", #"{"success": false}"#)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 11)
        }
    }

    /// Two schedulers that have both read, before either decides, that nothing runs.
    @Test func whatIsDueAtOnceKeepsToTheBudgetOfRuns() async throws {
        try await APIServer.run { server in
            let processing = (0..<10).map { ("p\($0)", "processing") }
            try await server.register(processing + [("refresh", "app_refresh")])
            for (identifier, _) in processing { try await server.request(identifier) }
            try await server.request()
            let timers = server.stores.timers
            let first = try await timers.dueRequests()
            let second = try await timers.dueRequests()
            #expect(first.count == 11)
            _ = try await timers.decide(first.prefix(6).map { ($0, LaunchDecision($0)) })
            _ = try await timers.decide(second.suffix(6).map { ($0, LaunchDecision($0)) })
            #expect(try await server.runs().count == 10)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 10)
            #expect(try await server.pending().map(\.waitsFor.reason) == ["budget"])
        }
    }

    @Test func saysSinceWhenItWaits() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            let clock = try await server.clock()
            let settings = "/v1/tenant/background-settings"
            try await server.send("PATCH", settings, #"{"capacity": "busy"}"#)
            let date = Timestamp(Date(timeIntervalSinceNow: 900)).rfc3339
            try await server.request(
                "clean",
                #""requires_external_power": true, "earliest_begin_at": "\#(date)""#
            )
            let submitted = try #require(try await server.pending().first)
            #expect(submitted.waitsFor.since.date == submitted.submittedAt.date)
            try await clock.pass(901)
            let waiting = try #require(try await server.pending().first)
            #expect(waiting.waitsFor.reason == "capacity")
            let time = waiting.waitsFor.since.date.timeIntervalSince(waiting.submittedAt.date)
            #expect(time > 900)
            // Looking again is no new wait.
            try await clock.pass(61)
            let later = try #require(try await server.pending().first)
            #expect(
                later.waitsFor.since.date.timeIntervalSince(later.submittedAt.date) == time
            )
        }
    }

    @Test func waitsForASubscriptionThatIsEnabled() async throws {
        try await APIServer.run { server in
            try await server.register()
            let made = try await server.send(
                "POST",
                "/v1/subscriptions",
                """
                {"url": "https://receiver.example/a", "enabled": false,
                "event_types": ["background_task.*"]}
                """
            )
            let subscription = try made.json(SubscriptionDocument.self)
            try await server.request()
            try await server.stores.advanceTimers()
            #expect(try await server.pending().first?.waitsFor.reason == "subscription")
            let path = "/v1/subscriptions/\(subscription.id)"
            try await server.send("PATCH", path, #"{"enabled": true}"#)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 1)
        }
    }

    @Test func waitsForTheLaunchOfItsClient() async throws {
        try await APIServer.run { server in
            try await server.register()
            try await server.request()
            try await server.send("POST", "/v1/clients/default/force-quit")
            try await server.stores.advanceTimers()
            #expect(try await server.pending().first?.waitsFor.reason == "client_force_quit")
            #expect(try await server.request().code == .clientForceQuit)
            try await server.send("POST", "/v1/clients/default/launch")
            try await server.stores.advanceTimers()
            #expect(try await server.runs().count == 1)
        }
    }

    @Test func continuedProcessingRunsAtOnceOrFails() async throws {
        try await APIServer.run { server in
            try await server.register([("export", "continued_processing")])
            let words = #""title": "Export", "subtitle": "1 of 3", "strategy": "fail""#
            #expect(try await server.request("export", words).status == 201)
            let run = try #require(try await server.runs().first)
            #expect(run.title == "Export")
            let second = try await server.request("export", words)
            #expect(second.code == .immediateRunIneligible)
            #expect(second.detail?.contains("`run`: a launch of the identifier") == true)
            #expect(try await server.pending().isEmpty)
            let queued = try await server.request("export", #""title": "Export""#)
            #expect(queued.status == 201)
            try await server.change(
                run.id,
                "progress",
                #"{"completed_unit_count": 2, "total_unit_count": 3, "subtitle": "2 of 3"}"#
            )
            let reached = try await server.run(run.id)
            #expect(reached.progress?.completedUnitCount == 2)
            #expect(reached.title == "Export")
            #expect(reached.subtitle == "2 of 3")
            #expect(reached.state == "running")
        }
    }

    @Test(arguments: [
        (#""identifier": "a b""#, "/identifier invalid_identifier"),
        (#""identifier": "a", "client": "é""#, "/client invalid_identifier"),
        (#""identifier": "a", "min_interval_seconds": 0"#, "/min_interval_seconds invalid_value"),
        (#""identifier": "a", "strategy": "drop""#, "/strategy invalid_value"),
        (#""identifier": "a", "title": """#, "/title invalid_value"),
        (#""identifier": "a", "recurrence": {}"#, "/recurrence invalid_value"),
        (
            #""identifier": "a", "recurrence": {"every_seconds": 60, "cron": "* * * * *"}"#,
            "/recurrence invalid_value"
        ),
        (
            #""identifier": "a", "recurrence": {"every_seconds": 1}"#,
            "/recurrence/every_seconds invalid_value"
        ),
        (
            #""identifier": "a", "recurrence": {"cron": "0 25 * * *"}"#,
            "/recurrence/cron invalid_value"
        ),
        (
            #""identifier": "a", "recurrence": {"cron": "@daily", "time_zone": "Mars/Phobos"}"#,
            "/recurrence/time_zone invalid_value"
        ),
        (
            // A name that Foundation takes for the one before its NUL.
            #""identifier": "a", "recurrence": {"cron": "@daily", "time_zone": "US/Samoa\u0000x"}"#,
            "/recurrence/time_zone invalid_value"
        ),
        (
            #""identifier": "a", "recurrence": {"cron": "@daily", "time_zone": "CEST"}"#,
            "/recurrence/time_zone invalid_value"
        ),
        (
            // A name that the time zones of Foundation have, and the tz database has not.
            #""identifier": "a", "recurrence": {"cron": "@daily", "time_zone": "PST"}"#,
            "/recurrence/time_zone invalid_value"
        ),
        (
            #""identifier": "a", "recurrence": {"cron": "@daily", "missed": "some"}"#,
            "/recurrence/missed invalid_value"
        ),
        (#""identifier": "a", "date": 1"#, "/date unknown_field"),
    ])
    func whatMakesNoSenseIsNamed(members: String, fault: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send(
                "POST",
                "/v1/background-tasks/requests",
                "{\(members)}"
            )
            #expect(answer.faults == [fault])
        }
    }

    @Test func theFaultOfACronExpressionSaysWhere() async throws {
        try await APIServer.run { server in
            let answer = try await server.send(
                "POST",
                "/v1/background-tasks/requests",
                #"{"identifier": "a", "recurrence": {"cron": "0 25 * * *"}}"#
            )
            #expect(answer.text.contains("At byte 2: The hour has numbers from 0 to 23."))
        }
    }

    @Test func whatDoesNotFitTheHandlerIsRefused() async throws {
        try await APIServer.run { server in
            try await server.register([("a", "app_refresh"), ("c", "continued_processing")])
            for (identifier, members) in [
                ("a", #""requires_external_power": true"#), ("a", #""title": "A""#), ("c", ""),
                ("c", #""title": "C", "min_interval_seconds": 9"#),
            ] {
                let answer = try await server.request(identifier, members)
                #expect(answer.faults == ["/identifier invalid_value"], "\(members)")
            }
        }
    }
}

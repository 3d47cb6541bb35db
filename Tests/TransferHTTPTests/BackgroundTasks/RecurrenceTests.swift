import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct RecurrenceTests {
    private func recurrence(_ members: String) -> String { #""recurrence": {\#(members)}"# }

    @Test func isLaunchedAgainAndAgainAtFixedTimes() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            var run = try await server.launch("refresh", recurrence(#""every_seconds": 900"#))
            for _ in 0..<3 {
                try await server.change(run.id, "complete", #"{"success": true}"#)
                #expect(try await server.pending().map(\.waitsFor.reason) == ["date"])
                try await clock.pass(880)
                let last = run.id
                #expect(try await server.runs().first?.id == last)
                try await clock.pass(21)
                run = try #require(try await server.runs().first)
                #expect(run.id != last)
            }
            let nominal = try await server.runs().compactMap(\.occurrenceAt?.date)
            #expect(nominal.count == 4)
        }
    }

    /// The service was down for an hour.
    @Test(arguments: [("once", 1), ("skip", 0), ("all", 4)])
    func whatWasMissed(policy: String, launches: Int) async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let first = try await server.launch(
                "refresh",
                recurrence(#""every_seconds": 900, "missed": "\#(policy)""#)
            )
            try await server.change(first.id, "complete", #"{"success": true}"#)
            try await clock.pass(3700)
            var count = 0
            while let run = try await server.runs().first, run.state == "launched" {
                count += 1
                try await server.change(run.id, "complete", #"{"success": true}"#)
                try await server.stores.advanceTimers()
            }
            #expect(count == launches)
            let until = try #require(try await server.pending().first?.waitsFor.until).date
            #expect((700...900).contains(until.timeIntervalSinceNow))
        }
    }

    @Test func whatNobodyAcceptsIsLaunchedBeforeItsNextTime() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            let clock = try await server.clock()
            _ = try await server.launch("clean", recurrence(#""every_seconds": 900"#))
            try await clock.pass(61)
            #expect(try await server.pending().map(\.waitsFor.reason) == ["relaunch"])
            try await clock.pass(31)
            let run = try #require(try await server.runs().first)
            #expect(run.state == "launched")
            try await server.change(run.id, "complete", #"{"success": true}"#)
            try await clock.pass(700)
            #expect(try await server.runs().count == 2)
            try await clock.pass(120)
            #expect(try await server.runs().count == 3)
        }
    }

    @Test func jitterDelaysAndDoesNotAddUp() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            try await server.request(
                "refresh",
                recurrence(#""every_seconds": 900, "jitter_seconds": 60"#)
            )
            for number in 0..<3 {
                try await clock.pass(number == 0 ? 61 : 900)
                #expect(try await server.runs().count == number + 1)
                let run = try #require(try await server.runs().first)
                try await server.change(run.id, "complete", #"{"success": true}"#)
            }
        }
    }

    @Test func anOccurrenceWaitsForTheLeastInterval() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let run = try await server.launch(
                "refresh",
                #"\#(recurrence(#""every_seconds": 900"#)), "min_interval_seconds": 1500"#
            )
            try await server.change(run.id, "complete", #"{"success": true}"#)
            try await clock.pass(1000)
            #expect(try await server.runs().count == 1)
            #expect(try await server.pending().map(\.waitsFor.reason) == ["interval"])
            try await clock.pass(501)
            #expect(try await server.runs().count == 2)
        }
    }

    @Test func followsACronExpression() async throws {
        try await APIServer.run { server in
            try await server.register([("clean", "processing")])
            let answer = try await server.request(
                "clean",
                recurrence(#""cron": "30 4 * * *", "time_zone": "Europe/Berlin""#)
            )
            let document = try answer.json(BackgroundTaskRequestDocument.self)
            #expect(document.recurrence?.timeZone == "Europe/Berlin")
            #expect(document.recurrence?.missed == "once")
            let until = try #require(document.waitsFor.until).date
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
            let parts = calendar.dateComponents([.hour, .minute, .second], from: until)
            #expect([parts.hour, parts.minute, parts.second] == [4, 30, 0])
            #expect((0...86_400).contains(until.timeIntervalSinceNow))
        }
    }

    /// None of these zones changes its clocks, unlike the one for which Foundation takes the
    /// abbreviation `EST`.
    @Test(arguments: [
        ("EST", 11), ("MST", 13), ("Japan", 21), ("Singapore", 22), ("ROK", 21), ("Zulu", 6),
        ("HST", 16), ("Jamaica", 11),
    ])
    func takesNamesWithoutASlash(zone: String, hour: Int) async throws {
        try await APIServer.run { server in
            try await server.register()
            let answer = try await server.request(
                "refresh",
                recurrence(#""cron": "0 6 * * *", "time_zone": "\#(zone)""#)
            )
            #expect(answer.status == 201)
            let document = try answer.json(BackgroundTaskRequestDocument.self)
            #expect(document.recurrence?.timeZone == zone)
            let until = try #require(document.waitsFor.until).date
            #expect(Int(until.timeIntervalSince1970) / 3600 % 24 == hour)
            #expect(try await server.pending().map(\.recurrence?.timeZone) == [zone])
        }
    }

    /// The clock of this process is an hour behind.
    @Test func theFirstTimeIsByTheClockOfTheDatabase() async throws {
        let pool = try await TestDatabase.current.poolAnHourAhead()
        try await APIServer.run(stores: Stores(Database(pool: pool))) { server in
            try await server.register()
            let before = Date()
            let answer = try await server.request("refresh", recurrence(#""cron": "0 * * * *""#))
            #expect(answer.status == 201)
            let until = try #require(try await server.pending().first?.waitsFor.until).date
            #expect(until.timeIntervalSince1970.truncatingRemainder(dividingBy: 3600) == 0)
            #expect(until > before + 3600 && until.timeIntervalSinceNow <= 7200)
        }
    }

    /// What is read can be submitted again.
    @Test(arguments: ["", #", "time_zone": "UTC""#, #", "time_zone": "GMT""#])
    func universalTimeIsNamedUTC(zone: String) async throws {
        try await APIServer.run { server in
            try await server.register()
            let answer = try await server.request(
                "refresh",
                recurrence(#""cron": "@daily"\#(zone)"#)
            )
            #expect(answer.status == 201)
            let document = try answer.json(BackgroundTaskRequestDocument.self)
            #expect(document.recurrence?.timeZone == "UTC")
            #expect(try await server.pending().map(\.recurrence?.timeZone) == ["UTC"])
        }
    }

    /// The next 29 February that is a Sunday is that of 2060.
    @Test func hasATimeWithinEightYears() async throws {
        try await APIServer.run { server in
            try await server.register()
            let answer = try await server.request(
                "refresh",
                #""earliest_begin_at": "2033-01-01T00:00:00Z", "#
                    + recurrence(#""cron": "0 0 29 2 */7""#)
            )
            #expect(answer.status == 422)
            #expect(answer.faults == ["/recurrence invalid_value"])
            #expect(answer.text.contains("within eight years"))
        }
    }

    /// Its time could not be shown, nor anything that is listed beside it.
    @Test(arguments: [
        #""earliest_begin_at": "9999-12-31T23:59:59Z", "recurrence": {"every_seconds": 10, "#
            + #""jitter_seconds": 86400}"#,
        #""earliest_begin_at": "9999-12-31T23:59:59Z", "recurrence": {"cron": "0 0 1 1 *"}"#,
    ])
    func hasATimeByTheEndOfTheYear9999(members: String) async throws {
        try await APIServer.run { server in
            try await server.register()
            let answer = try await server.request("refresh", members)
            #expect(answer.status == 422)
            #expect(answer.faults == ["/recurrence invalid_value"])
            #expect(try await server.pending().isEmpty)
        }
    }

    @Test func endsWithItsCancellation() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let run = try await server.launch("refresh", recurrence(#""every_seconds": 900"#))
            try await server.send("DELETE", "/v1/background-tasks/requests/refresh")
            try await server.change(run.id, "complete", #"{"success": true}"#)
            try await clock.pass(10_000)
            #expect(try await server.runs().count == 1)
        }
    }
}

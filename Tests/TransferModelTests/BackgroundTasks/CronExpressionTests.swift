import Foundation
import Testing

@testable import TransferModel

@Suite struct CronExpressionTests {
    private static func times(
        _ text: String,
        after date: String,
        in zone: String,
        count: Int
    ) throws -> [String] {
        let cron = try CronExpression(text)
        let zone = try #require(TimeZone(identifier: zone))
        var times: [String] = []
        var last = try Date(date, strategy: .iso8601)
        for _ in 0..<count {
            last = try #require(cron.next(after: last, in: zone))
            times.append(last.formatted(.iso8601))
        }
        return times
    }

    @Test(arguments: [
        ("0 6 * * *", "2026-11-24T05:59:59Z", ["2026-11-24T06:00:00Z", "2026-11-25T06:00:00Z"]),
        ("0 6 * * *", "2026-11-24T06:00:00Z", ["2026-11-25T06:00:00Z"]),
        ("*/15 * * * *", "2026-11-24T05:50:00Z", ["2026-11-24T06:00:00Z", "2026-11-24T06:15:00Z"]),
        ("5/20 8 * * *", "2026-11-24T08:05:00Z", ["2026-11-24T08:25:00Z", "2026-11-24T08:45:00Z"]),
        ("0 0 * * MON-WED", "2026-11-25T00:00:00Z", ["2026-11-30T00:00:00Z"]),
        ("0 0 * * 7", "2026-11-24T00:00:00Z", ["2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"]),
        ("0 0 * * 7/2", "2026-11-24T00:00:00Z", ["2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"]),
        (
            "0 0 13 * FRI", "2026-11-24T00:00:00Z",
            [
                "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z",
                "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z",
            ]
        ),
        ("0 12 29 2 *", "2026-11-24T00:00:00Z", ["2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"]),
        ("0 12 29 2 *", "2096-03-01T00:00:00Z", ["2104-02-29T12:00:00Z"]),
        (
            "0 0 31 * *", "2026-11-24T00:00:00Z",
            [
                "2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z",
                "2027-03-31T00:00:00Z",
            ]
        ),
        ("@monthly", "2026-12-01T00:00:00Z", ["2027-01-01T00:00:00Z"]),
        ("59 23 31 dec *", "2026-12-31T23:59:00Z", ["2027-12-31T23:59:00Z"]),
    ])
    func followsTheCalendar(text: String, date: String, times: [String]) throws {
        #expect(
            try Self.times(text, after: date, in: "UTC", count: times.count) == times
        )
    }

    /// The times of the changes are those of the tz database; the comment of each row says what the
    /// clocks on the walls do.
    @Test(arguments: [
        // Berlin, 29 March 2026: 02:00 becomes 03:00.
        (
            "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        ),
        (
            "*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]
        ),
        (
            "0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]
        ),
        // Berlin, 25 October 2026: 03:00 becomes 02:00.
        (
            "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        ),
        (
            "30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"]
        ),
        // New York, 8 March 2026: 02:00 becomes 03:00; 1 November: 02:00 becomes 01:00.
        (
            "0 2 * * *", "America/New_York", "2026-03-08T00:00:00Z",
            ["2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"]
        ),
        (
            "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z",
            ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]
        ),
        // Lord Howe, 4 October 2026: half an hour, 02:00 becomes 02:30.
        (
            "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
            ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]
        ),
        // Cairo, 24 April 2026: midnight becomes 01:00, so that the day has no 00:30.
        (
            "30 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z",
            ["2026-04-23T22:00:00Z", "2026-04-24T21:30:00Z"]
        ),
        // Apia skipped 30 December 2011 altogether.
        (
            "0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z",
            ["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"]
        ),
        ("0 9 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", ["2026-01-01T03:15:00Z"]),
    ])
    func followsTheClocksOnTheWalls(
        text: String,
        zone: String,
        date: String,
        times: [String]
    ) throws {
        #expect(try Self.times(text, after: date, in: zone, count: times.count) == times)
    }

    /// Every change of clocks that the tz database has for these years, in each zone that it has:
    /// looked at minute by minute, as the rule says.
    @Test func followsEveryChangeOfClocksInTheWorld() throws {
        let begin = try Date("2026-01-01T00:00:00Z", strategy: .iso8601)
        let end = try Date("2028-01-01T00:00:00Z", strategy: .iso8601)
        let hourly = try CronExpression("30 * * * *")
        let daily = try [0, 1, 2, 3, 23].map { hour in
            (hour * 3600 + 1800, try CronExpression("30 \(hour) * * *"))
        }
        var seen: Set<[Int]> = []
        for zone in TimeZone.knownTimeZoneIdentifiers.compactMap({ TimeZone(identifier: $0) }) {
            var change = zone.nextDaylightSavingTimeTransition(after: begin)
            while let date = change, date < end {
                change = zone.nextDaylightSavingTimeTransition(after: date)
                let offsets = [-1.0, 1].map { zone.secondsFromGMT(for: date + $0) }
                // Zones that do the same at the same time are one.
                guard seen.insert([Int(date.timeIntervalSince1970)] + offsets).inserted
                else { continue }
                let wall = Wall(zone, around: date)
                let what = "\(zone.identifier) at \(date)"
                #expect(
                    wall.times(of: hourly) == wall.minutes { $0 % 3600 == 1800 },
                    "\(what)"
                )
                for (timeOfDay, cron) in daily {
                    #expect(wall.times(of: cron) == wall.firstMinutes(at: timeOfDay), "\(what)")
                }
            }
        }
        #expect(seen.count > 50)
    }

    @Test(arguments: [
        ("60 * * * *", 0), ("* 24 * * *", 2), ("* * 0 * *", 4), ("* * * 13 *", 6),
        ("* * * * 8", 8), ("1,,2 * * * *", 2), ("5-1 * * * *", 0), ("*/0 * * * *", 2),
        ("* * * *", 7), ("* * * * * *", 10), ("@often", 0), ("", 0), ("0 0 30 2 *", 4),
        ("0 0 31 feb,apr *", 4), ("a * * * *", 0), ("-1 * * * *", 0), ("0 0 * * mon-xyz", 12),
        ("１ * * * *", 0), ("1 * * * *\u{0}", 8),
    ])
    func namesThePlaceOfTheFirstFault(text: String, offset: Int) {
        #expect {
            _ = try CronExpression(text)
        } throws: { error in
            (error as? CronExpression.SyntaxError)?.offset == offset
        }
    }

    @Test(arguments: [0...59, 0...23, 1...31, 1...12, 0...7].enumerated().map { ($0, $1) })
    func everyNumberMayHaveEveryStep(field: Int, numbers: ClosedRange<Int>) {
        var fields = ["*", "*", "*", "*", "*"]
        for number in 0...60 {
            for step in 0...60 {
                fields[field] = "\(number)/\(step)"
                let isValid = numbers.contains(number) && (1...numbers.upperBound).contains(step)
                let cron = try? CronExpression(fields.joined(separator: " "))
                #expect((cron != nil) == isValid, "\(fields)")
            }
        }
    }

    @Test func aDayThatNoMonthHasMayStandBesideAWeekday() throws {
        let cron = try CronExpression("0 0 31 2 mon")
        let zone = try #require(TimeZone(identifier: "UTC"))
        let date = try Date("2026-11-24T00:00:00Z", strategy: .iso8601)
        #expect(cron.next(after: date, in: zone)?.formatted(.iso8601) == "2027-02-01T00:00:00Z")
    }

    /// Minute by minute, as the definition says, in a zone whose clocks change.
    @Test func agreesWithTheDefinition() throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        var random = SystemRandomNumberGenerator()
        for _ in 0..<40 {
            let minute = Int.random(in: 0...59, using: &random)
            let hour = Int.random(in: 4...23, using: &random)
            let weekday = Int.random(in: 0...6, using: &random)
            let cron = try CronExpression("\(minute) \(hour) * * \(weekday)")
            let start = Date(
                timeIntervalSince1970: Double(Int.random(in: 29_000_000...30_000_000)) * 60
            )
            let next = try #require(cron.next(after: start, in: zone))
            var time = start + 60
            while true {
                let parts = calendar.dateComponents([.minute, .hour, .weekday], from: time)
                if parts.minute == minute, parts.hour == hour, parts.weekday == weekday + 1 {
                    break
                }
                time += 60
            }
            #expect(next == time, "\(cron.text) after \(start)")
        }
    }
}

/// What the clocks on the walls show, minute by minute, for two days and a half around a time.
private struct Wall {
    private let zone: TimeZone
    private let start: Int
    /// The seconds since 1970 that the clocks show.
    private let shown: [Int]

    init(_ zone: TimeZone, around date: Date) {
        self.zone = zone
        let start = Int(date.timeIntervalSince1970) / 60 * 60 - 108_000
        self.start = start
        shown = (0..<3600).map { minute in
            let time = start + minute * 60
            return time + zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time)))
        }
    }

    /// The times of an expression within that time, as minutes from its start.
    func times(of cron: CronExpression) -> [Int] {
        var times: [Int] = []
        var last = Date(timeIntervalSince1970: Double(start))
        while let next = cron.next(after: last, in: zone) {
            let minute = (Int(next.timeIntervalSince1970) - start) / 60
            guard minute < shown.count else { break }
            times.append(minute)
            last = next
        }
        return times
    }

    /// The minutes at which the clocks show what is asked for.
    func minutes(where isShown: (Int) -> Bool) -> [Int] {
        shown.indices.dropFirst().filter { isShown(shown[$0]) }
    }

    /// For each day the first minute at which that time of day is reached or passed.
    func firstMinutes(at timeOfDay: Int) -> [Int] {
        let days = (shown[0] / 86_400)...(shown[shown.count - 1] / 86_400 + 1)
        return days.compactMap { day in
            let wanted = day * 86_400 + timeOfDay
            guard shown[0] < wanted else { return nil }
            return shown.firstIndex { $0 >= wanted }
        }
    }
}

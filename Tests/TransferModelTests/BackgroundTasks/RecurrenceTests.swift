import Foundation
import Testing

@testable import TransferModel

/// The first occurrence of a request, and what becomes of one that comes late.
@Suite struct RecurrenceTests {
    private static func daily(_ missed: Recurrence.MissedPolicy = .once) throws -> Recurrence {
        let zone = try #require(TimeZone(identifier: "UTC"))
        return Recurrence(rule: .cron(try CronExpression("0 6 * * *"), zone), missed: missed)
    }

    @Test(
        arguments: [
            (String?.none, "2026-11-30T06:00:00Z"),
            ("2026-11-01T00:00:00Z", "2026-11-30T06:00:00Z"),
            ("2026-12-05T06:00:00Z", "2026-12-05T06:00:00Z"),
            ("2026-12-05T06:00:01Z", "2026-12-06T06:00:00Z"),
        ] as [(String?, String)]
    )
    func theFirstOccurrenceIsNeitherPastNorTooEarly(earliest: String?, first: String) throws {
        let now = try Date("2026-11-29T12:00:00Z", strategy: .iso8601)
        let earliest = try earliest.map { try Date($0, strategy: .iso8601) }
        let found = try Self.daily().first(earliest: earliest, now: now)
        #expect(found?.formatted(.iso8601) == first)
    }

    /// Also in a year in which a date is not known to the microsecond.
    @Test(arguments: ["2026-12-05T06:00:00Z", "9998-12-05T06:00:00Z"])
    func aFractionOfASecondIsTooEarly(time: String) throws {
        let time = try Date(time, strategy: .iso8601)
        let daily = try Self.daily()
        #expect(daily.first(earliest: time, now: time - 86_400) == time)
        #expect(daily.first(earliest: time + 0.9, now: time - 86_400) == time + 86_400)
    }

    /// A later time could not be written.
    @Test func noOccurrenceIsBeyondTheYear9999() throws {
        let now = try Date("9999-12-31T23:59:00Z", strategy: .iso8601)
        let rules: [Recurrence.Rule] = try [.every(.seconds(60)), Self.daily().rule]
        for rule in rules {
            let recurrence = Recurrence(rule: rule)
            #expect(recurrence.next(after: now, now: now) == nil)
        }
        let often = Recurrence(rule: .every(.seconds(10)))
        #expect(often.first(earliest: now, now: now) == now)
        #expect(often.next(after: now, now: now) == now + 10)
        let delayed = Recurrence(rule: .every(.seconds(10)), jitter: .seconds(60))
        #expect(delayed.first(earliest: now, now: now) == nil)
        #expect(delayed.first(earliest: now - 1, now: now - 1) == now - 1)
        let zone = try #require(TimeZone(identifier: "UTC"))
        let yearly = Recurrence(rule: .cron(try CronExpression("0 0 1 1 *"), zone))
        #expect(yearly.first(earliest: now, now: now) == nil)
    }

    /// A request, by default one that leaves out what it has missed, of an occurrence at six
    /// o'clock.
    private static func skipping(
        _ reason: RequestWait.Reason,
        _ facts: DueRequest.Facts,
        minInterval: Duration? = nil,
        recurrence: Recurrence? = nil
    ) throws -> DueRequest {
        DueRequest(
            id: BackgroundTaskRequestID(UUID()),
            clientID: UUID(),
            kind: .processing,
            launches: 0,
            reason: reason,
            occurrenceAt: try occurrence(),
            recurrence: try recurrence ?? daily(.skip),
            minInterval: minInterval,
            requiresNetworkConnectivity: true,
            requiresExternalPower: false,
            facts: facts
        )
    }

    private static func occurrence() throws -> Date {
        try Date("2026-11-29T06:00:00Z", strategy: .iso8601)
    }

    /// Whatever it has waited for afterwards.
    @Test func theTimeBetweenTwoLaunchesIsNoLateness() throws {
        let occurrence = try Self.occurrence()
        var facts = DueRequest.Facts(now: occurrence + 300)
        facts.lastLaunchedAt = occurrence - 10
        let request = try Self.skipping(.network, facts, minInterval: .seconds(300))
        #expect(LaunchDecision(request) == .launch(next: occurrence + 86_400))
    }

    @Test(arguments: RequestWait.Reason.allCases)
    func anOccurrenceThatHasWaitedLongIsSkipped(reason: RequestWait.Reason) throws {
        let occurrence = try Self.occurrence()
        let facts = DueRequest.Facts(now: occurrence + 61)
        let next = occurrence + 86_400
        let decision = LaunchDecision(try Self.skipping(reason, facts))
        if reason == .interval || reason == .relaunch {
            #expect(decision == .launch(next: next))
        } else {
            #expect(decision == .skip(next: next))
        }
    }

    /// Nor if it is longer than the time to the next one.
    @Test(arguments: [Recurrence.MissedPolicy.once, .skip])
    func aRandomDelayLeavesNoOccurrenceOut(missed: Recurrence.MissedPolicy) throws {
        let occurrence = try Self.occurrence()
        let recurrence = Recurrence(
            rule: .every(.seconds(10)),
            missed: missed,
            jitter: .seconds(60)
        )
        // Those whose longest delay is over are missed.
        let nexts: [(Double, Double)] = [(45, 10), (60, 10), (69, 10), (70, 20), (100, 50)]
        for (delay, next) in nexts {
            let facts = DueRequest.Facts(now: occurrence + delay)
            let request = try Self.skipping(.date, facts, recurrence: recurrence)
            #expect(LaunchDecision(request) == .launch(next: occurrence + next), "\(delay)")
        }
    }
}

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

    @Test(arguments: RequestWait.Reason.allCases)
    func anOccurrenceThatHasWaitedLongIsSkipped(reason: RequestWait.Reason) throws {
        let occurrence = try Date("2026-11-29T06:00:00Z", strategy: .iso8601)
        let request = DueRequest(
            id: BackgroundTaskRequestID(UUID()),
            clientID: UUID(),
            kind: .processing,
            launches: 0,
            reason: reason,
            occurrenceAt: occurrence,
            recurrence: try Self.daily(.skip),
            minInterval: nil,
            requiresNetworkConnectivity: true,
            requiresExternalPower: false,
            facts: DueRequest.Facts(now: occurrence + 61)
        )
        let next = occurrence + 86_400
        let decision = LaunchDecision(request)
        if reason == .interval || reason == .relaunch {
            #expect(decision == .launch(next: next))
        } else {
            #expect(decision == .skip(next: next))
        }
    }
}

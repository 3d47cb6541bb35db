import Foundation
import Testing
import TransferModel

@Suite struct WeeklyHoursTests {
    /// Returns a moment of the first week of March 2026, which began on a Sunday.
    private func moment(_ day: Int, _ hour: Int, _ minute: Int = 0) -> Date {
        Date(timeIntervalSince1970: 1_772_323_200 + Double((day * 24 + hour) * 3600 + minute * 60))
    }

    private func hours(_ text: String) throws -> WeeklyHours {
        try #require(WeeklyHours(text))
    }

    @Test func timesHoldOnAllDays() throws {
        let hours = try hours("09:30-17:00")
        for day in 0..<7 {
            #expect(!hours.contains(moment(day, 9, 29)))
            #expect(hours.contains(moment(day, 9, 30)))
            #expect(hours.contains(moment(day, 16, 59)))
            #expect(!hours.contains(moment(day, 17)))
        }
    }

    @Test func aNightBelongsToTheDayOnWhichItBegins() throws {
        let hours = try hours("mon-fri 22:00-06:00")
        #expect(!hours.contains(moment(0, 23)))
        #expect(!hours.contains(moment(1, 5)))
        #expect(hours.contains(moment(1, 22)))
        #expect(hours.contains(moment(2, 5, 59)))
        #expect(!hours.contains(moment(2, 6)))
        #expect(hours.contains(moment(5, 23)))
        #expect(hours.contains(moment(6, 5)))
        #expect(!hours.contains(moment(6, 22)))
    }

    @Test func severalPeriodsHoldTogether() throws {
        let hours = try hours("Sat-Sun, wed 12:00-24:00")
        #expect(hours.contains(moment(0, 0)))
        #expect(hours.contains(moment(6, 23, 59)))
        #expect(hours.contains(moment(3, 12)))
        #expect(hours.contains(moment(3, 23, 59)))
        #expect(!hours.contains(moment(4, 0)))
        #expect(!hours.contains(moment(1, 12)))
        #expect(!WeeklyHours().contains(moment(3, 12)))
    }

    @Test(arguments: [
        "", ",", "noon", "25:00-26:00", "9:00-10:00", "10:00", "10:00-10:00", "24:00-01:00",
        "mon-", "mon 10:00", "mon 10:00-11:00 tue", "10:60-11:00", "mon-tue-wed",
        String(repeating: "sat,", count: 33),
    ])
    func anythingElseIsRefused(text: String) {
        #expect(WeeklyHours(text) == nil)
    }
}

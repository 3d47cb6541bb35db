import Foundation
import Testing
import TransferModel

@Suite struct RetryAfterTests {
    /// The date of RFC 9110: Sun, 06 Nov 1994 08:49:37 GMT.
    private static let date = Date(timeIntervalSince1970: 784_111_777)

    @Test(
        arguments: [
            ("0", 0), ("120", 120), (" 7\t", 7), ("007", 7),
            ("99999999999999999999999999", 3_162_240_000),
        ] as [(String, Int64)]
    )
    func readsSeconds(value: String, seconds: Int64) {
        #expect(RetryAfter.wait(value, date: nil, now: Self.date) == .seconds(seconds))
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:47 GMT", "Sunday, 06-Nov-94 08:49:47 GMT",
        "Sun Nov  6 08:49:47 1994",
    ])
    func readsEachFormOfAnHTTPDate(value: String) {
        #expect(RetryAfter.wait(value, date: nil, now: Self.date) == .seconds(10))
    }

    @Test func aDateIsNeverEarly() {
        let now = Self.date.addingTimeInterval(0.9)
        let later = "Sun, 06 Nov 1994 08:49:47 GMT"
        #expect(RetryAfter.wait(later, date: nil, now: now) == .seconds(10))
        #expect(RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT", date: nil, now: now) == nil)
    }

    /// The date that it names is by the same clock.
    @Test func aDateCountsFromThatOfTheResponse() {
        let later = "Sun, 06 Nov 1994 08:49:47 GMT"
        for now in [Self.date - 7200, Self.date + 7200] {
            let wait = RetryAfter.wait(later, date: "Sun, 06 Nov 1994 08:49:37 GMT", now: now)
            #expect(wait == .seconds(10))
            #expect(RetryAfter.wait("120", date: later, now: now) == .seconds(120))
        }
        #expect(RetryAfter.wait(later, date: "soon", now: Self.date) == .seconds(10))
        #expect(
            RetryAfter.wait(later, date: "Sun, 06 Nov 1994 08:49:48 GMT", now: Self.date) == nil
        )
        #expect(RetryAfter.wait(nil, date: later, now: Self.date) == nil)
        let long = "Sun, 06 Nov 1994 08:49:48 GMT" + String(repeating: " ", count: 36)
        #expect(RetryAfter.wait(later, date: long, now: Self.date) == .seconds(10))
    }

    @Test func aLeapDayIsADayOfItsOwn() {
        let now = Date(timeIntervalSince1970: 1_709_164_800)  // 2024-02-29T00:00:00Z
        let nextDay = "Fri, 01 Mar 2024 00:00:00 GMT"
        #expect(RetryAfter.wait(nextDay, date: nil, now: now) == .seconds(86_400))
    }

    @Test(arguments: [
        "", " ", "-1", "1.5", "1e3", "+5", "soon", "٣", "Sun, 06 Nov 1994 08:49:36 GMT",
        "Sun, 06 Nov 1994 08:49:47 CET", "Sun, 31 Foo 1994 08:49:47 GMT",
        "Sun, 06 Nov 1994 24:49:47 GMT", "Sun, 06 Nov 1994 08:61:47 GMT",
        String(repeating: "9", count: 65),
    ])
    func ignoresWhatMakesNoSense(value: String) {
        #expect(RetryAfter.wait(value, date: nil, now: Self.date) == nil)
    }
}

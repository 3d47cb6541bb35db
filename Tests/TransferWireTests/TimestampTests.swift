import Foundation
import Testing

@testable import TransferWire

@Suite struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("1970-01-01t00:00:00z", 0),
        ("2000-02-29T12:00:00+01:30", 951_820_200), ("1969-12-31T23:59:59-00:00", -1),
        ("2026-11-21T00:50:17.5Z", 1_795_222_217.5), ("2016-12-31T23:59:60Z", 1_483_228_800),
        ("0001-01-01T00:00:00Z", -62_135_596_800), ("9999-12-31T23:59:59Z", 253_402_300_799),
        ("1970-01-01T23:59:00+23:59", 0),
    ])
    func readsRFC3339(text: String, seconds: Double) {
        #expect(Timestamp(rfc3339: text)?.date.timeIntervalSince1970 == seconds)
    }

    @Test func decimalsBeyondMicrosecondsRoundUp() {
        #expect(
            Timestamp(rfc3339: "2026-11-21T00:00:00.0000001Z")?.rfc3339
                == "2026-11-21T00:00:00.000001Z"
        )
        #expect(
            Timestamp(rfc3339: "2026-11-21T23:59:59.99999901Z")?.rfc3339
                == "2026-11-22T00:00:00.000000Z"
        )
    }

    @Test(arguments: [
        "", "2026", "2026-11-21", "2026-11-21T00:00Z", "2026-11-21T00:00:00",
        "2026-11-21 00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-11-21T24:00:00Z",
        "2026-11-21T00:60:00Z", "2026-11-21T00:00:61Z", "2026-11-21T00:00:00.Z",
        "2026-11-21T00:00:00+24:00", "2026-11-21T00:00:00+0100", "2026-11-21T00:00:00Zx",
        "0000-01-01T00:00:00Z", "+2026-11-21T00:00:00Z", "２026-11-21T00:00:00Z",
        "1900-02-29T00:00:00Z", "9999-12-31T23:59:59.99999Z", "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z",
        "0001-01-01T00:00:00+00:01",
    ])
    func refusesOtherText(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (-0.000001, "1969-12-31T23:59:59.999999Z"),
        (951_820_200.25, "2000-02-29T10:30:00.250000Z"),
        (1_795_222_217.123456, "2026-11-21T00:50:17.123456Z"),
        (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
        (-62_135_596_800, "0001-01-01T00:00:00.000000Z"),
    ])
    func writesMicrosecondsInUTC(seconds: Double, text: String) {
        #expect(Timestamp(Date(timeIntervalSince1970: seconds)).rfc3339 == text)
    }

    @Test(
        arguments: [
            (253_402_300_800, "9999-12-31T23:59:59.999968Z"), (1e18, "9999-12-31T23:59:59.999968Z"),
            (.infinity, "9999-12-31T23:59:59.999968Z"), (.nan, "9999-12-31T23:59:59.999968Z"),
            (-62_135_596_801, "0001-01-01T00:00:00.000000Z"),
            (-.infinity, "0001-01-01T00:00:00.000000Z"),
        ] as [(Double, String)]
    )
    func whatNoYearHasIsNotWritten(seconds: Double, text: String) {
        let timestamp = Timestamp(Date(timeIntervalSince1970: seconds))
        #expect(throws: EncodingError.self) { try WireEncoder.encode([timestamp]) }
        #expect(timestamp.rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.rfc3339 == text)
    }

    @Test func everyDayOfFourCenturiesIsReadBack() {
        for day in stride(from: -100_000.0, through: 100_000, by: 1) {
            let timestamp = Timestamp(Date(timeIntervalSince1970: day * 86400 + 1))
            #expect(Timestamp(rfc3339: timestamp.rfc3339) == timestamp)
        }
    }
}

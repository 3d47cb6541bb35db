public import Foundation

/// An instant as RFC 3339 text, in microseconds, the precision of the database.
public struct Timestamp: Hashable, Codable, Sendable {
    /// The instant as Foundation's `Date`.
    public let date: Date

    /// Creates the value from its parts.
    public init(_ date: Date) { self.date = date }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let timestamp = Timestamp(rfc3339: text) else {
            throw FieldError(
                pointer: JSONPointer.rendering(decoder.codingPath),
                .invalidDate,
                "Must be a date and time with offset as in RFC 3339, of the years 1 to 9999."
            )
        }
        self = timestamp
    }

    /// Writes the value as ``rfc3339``.
    ///
    /// - Throws: `EncodingError` for a date outside of the years 1 to 9999.
    public func encode(to encoder: any Encoder) throws {
        guard Self.writableTimes.contains(date.timeIntervalSince1970) else {
            throw EncodingError.invalidValue(
                // Foundation cannot describe each such date.
                date.timeIntervalSince1970,
                EncodingError.Context(
                    codingPath: encoder.codingPath,
                    debugDescription: "RFC 3339 has the years 1 to 9999."
                )
            )
        }
        var container = encoder.singleValueContainer()
        try container.encode(rfc3339)
    }
}

extension Timestamp {
    private static let microsecondsPerDay: Int64 = 86_400_000_000

    /// The text in UTC with six decimals: `2026-03-01T12:00:00.000000Z`.
    ///
    /// For a date outside of the years 1 to 9999 it is that of the first or last one of them.
    public var rfc3339: String {
        // These take the bound instead of a date that is no number.
        let time = Double.maximum(
            Self.writableTimes.lowerBound,
            .minimum(Self.writableTimes.upperBound.nextDown, date.timeIntervalSince1970)
        )
        let total = Int64((time * 1_000_000).rounded())
        let days = Self.floorDivide(total, Self.microsecondsPerDay)
        let micros = total - days * Self.microsecondsPerDay
        let (year, month, day) = Self.civil(fromDays: days)
        let seconds = micros / 1_000_000
        var text: [UInt8] = []
        text.reserveCapacity(27)
        func put(_ value: Int64, width: Int, then mark: Character) {
            var digits = Array(String(value).utf8)
            while digits.count < width { digits.insert(UInt8(ascii: "0"), at: 0) }
            text += digits
            text += mark.utf8
        }
        put(year, width: 4, then: "-")
        put(month, width: 2, then: "-")
        put(day, width: 2, then: "T")
        put(seconds / 3600, width: 2, then: ":")
        put(seconds / 60 % 60, width: 2, then: ":")
        put(seconds % 60, width: 2, then: ".")
        put(micros % 1_000_000, width: 6, then: "Z")
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads RFC 3339's `date-time`, with any offset and any number of decimals.
    ///
    /// Decimals beyond microseconds are rounded up, so that nothing begins earlier than requested.
    ///
    /// - Returns: nil for other text, impossible dates and years outside 1…9999.
    public init?(rfc3339 text: String) {
        var scanner = DigitScanner(Array(text.utf8))
        guard let year = scanner.number(4), scanner.skip("-"),
            let month = scanner.number(2), scanner.skip("-"),
            let day = scanner.number(2), scanner.skip("T") || scanner.skip("t"),
            let hour = scanner.number(2), scanner.skip(":"),
            let minute = scanner.number(2), scanner.skip(":"),
            let second = scanner.number(2),
            let fraction = scanner.fraction(),
            let offset = scanner.offset(), scanner.isAtEnd
        else { return nil }
        // Second 60 is a leap second, which counts as the first second of the next minute, as in
        // PostgreSQL.
        guard (1...9999).contains(year), (1...12).contains(month),
            (1...Self.days(inMonth: month, year: year)).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = Self.days(fromYear: year, month: month, day: day)
        let seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
        let time = Double(seconds) + Double(fraction) / 1_000_000
        // With its offset, or by rounding, a time may belong to a year beyond those that can be
        // written: at the end of year 9999 a `Date` has steps of 31 µs.
        guard Self.writableTimes.contains(time) else { return nil }
        date = Date(timeIntervalSince1970: time)
    }

    /// The seconds since 1970 of the years 1…9999, in UTC.
    private static let writableTimes: Range<Double> = -62_135_596_800..<253_402_300_800

    private static func days(inMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor)
    }

    /// Returns the days since 1970-01-01 of a date of the proleptic Gregorian calendar.
    ///
    /// Years are counted from March, so that the leap day is the last of its year; 400 years have
    /// 146,097 days.
    private static func days(fromYear year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = floorDivide(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    /// Returns the date of a number of days, the reverse of `days(fromYear:month:day:)`.
    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

/// A scanner of the bytes of a date.
private struct DigitScanner {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Skips `character` when it is next, and returns whether it was.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let next = rest.first, next == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads exactly `count` digits.
    mutating func number(_ count: Int) -> Int64? {
        guard rest.count >= count else { return nil }
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Reads the decimals as microseconds, rounded up; 0 when there are none.
    mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        var value: Int64 = 0
        var count = 0
        var hasMore = false
        while let digit = digit() {
            if count < 6 { value = value * 10 + digit } else if digit > 0 { hasMore = true }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in min(count, 6)..<6 { value *= 10 }
        return hasMore ? value + 1 : value
    }

    /// Reads the offset in seconds east of UTC.
    mutating func offset() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let sign: Int64 = if skip("+") { 1 } else if skip("-") { -1 } else { 0 }
        guard sign != 0, let hours = number(2), skip(":"), let minutes = number(2), hours < 24,
            minutes < 60
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    private mutating func digit() -> Int64? {
        guard let next = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) else {
            return nil
        }
        rest.removeFirst()
        return Int64(next - UInt8(ascii: "0"))
    }
}

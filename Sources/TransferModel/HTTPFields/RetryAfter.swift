package import Foundation

/// A reader of `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date in an HTTP format.
package enum RetryAfter {
    /// The most bytes of a value; a longer one is garbage whatever it says.
    private static let bytesMax = 64
    /// The longest wait returned: a century, so that no later arithmetic overflows.
    private static let secondsMax: Int64 = 100 * 366 * 86_400

    /// Returns the wait that a response with these fields asks for at `now`; nil when it asks for
    /// none, or `value` makes no sense or lies in the past.
    ///
    /// A date counts from the response's own `date`, if it has one: both are by the sender's clock,
    /// and the clock here may be another.
    package static func wait(_ value: String?, date: String?, now: Date) -> Duration? {
        guard let value else { return nil }
        let sent = date.flatMap { Self.date($0) }.map { Date(timeIntervalSince1970: Double($0)) }
        return wait(value, now: sent ?? now)
    }

    /// Returns the wait from `now`; nil when the value makes no sense or lies in the past.
    private static func wait(_ value: String, now: Date) -> Duration? {
        guard value.utf8.count <= bytesMax else { return nil }
        let text = value.utf8.filter { $0 != 0x20 && $0 != 0x09 }
        if !text.isEmpty, text.allSatisfy({ (0x30...0x39).contains($0) }) {
            // A number with more digits than 64 bits hold is still a number of seconds.
            let seconds = Int64(String(decoding: text, as: UTF8.self)) ?? secondsMax
            return .seconds(min(seconds, secondsMax))
        }
        guard let date = date(value) else { return nil }
        guard Double(date) >= now.timeIntervalSince1970 else { return nil }
        // Rounded up, so that the wait never ends before the date.
        let seconds = date - Int64(now.timeIntervalSince1970.rounded(.down))
        return .seconds(min(seconds, secondsMax))
    }

    /// Returns the seconds since 1970 of an HTTP date (RFC 9110, section 5.6.7), also in obsolete
    /// forms.
    static func date(_ value: String) -> Int64? {
        guard value.utf8.count <= bytesMax else { return nil }
        let words = value.utf8.split { $0 == 0x20 || $0 == UInt8(ascii: ",") || $0 == 0x2D }
            .map { String(decoding: $0, as: UTF8.self) }
        switch words.count {
        case 6 where words[5] == "GMT":
            // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
            return seconds(day: words[1], month: words[2], year: words[3], time: words[4])
        case 5:
            // Sun Nov  6 08:49:37 1994
            return seconds(day: words[2], month: words[1], year: words[4], time: words[3])
        default:
            return nil
        }
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func seconds(
        day: String,
        month: String,
        year: String,
        time: String
    ) -> Int64? {
        let parts = time.utf8.split(separator: UInt8(ascii: ":")).map {
            number(String(decoding: $0, as: UTF8.self), in: 0...60)
        }
        guard parts.count == 3, let hour = parts[0], hour < 24, let minute = parts[1], minute < 60,
            let second = parts[2], let day = number(day, in: 1...31),
            let month = months.firstIndex(of: month), var year = number(year, in: 0...9999)
        else { return nil }
        // A two-digit year belongs to the last century only where it would be far in the future.
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        return days(year: year, month: month + 1, day: day) * 86_400
            + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: String, in range: ClosedRange<Int64>) -> Int64? {
        guard (1...4).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }

    /// Returns the days from 1970-01-01 in the Gregorian calendar, counting years from March so
    /// that the leap day is a year's last.
    private static func days(year: Int64, month: Int, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let monthsFromMarch = Int64((month + 9) % 12)
        let dayOfYear = (153 * monthsFromMarch + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}

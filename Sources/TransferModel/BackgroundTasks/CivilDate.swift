/// A day of the Gregorian calendar, without a time zone.
struct CivilDate: Equatable, Sendable {
    let year: Int
    let month: Int
    let day: Int
    /// 0 is Sunday.
    let weekday: Int

    /// The most days that each month ever has.
    static let longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    static let secondsPerDay = 86_400

    /// Creates the day that is `number` days after 1 January 1970.
    init(daysSince1970 number: Int) {
        // The years are counted from March, so that a leap day is the last of its year; 146,097 is
        // the number of days in four centuries.
        let shifted = number + 719_468
        let era = Self.floorDivision(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        weekday = Self.floorRemainder(number + 4, 7)
    }

    /// The quotient rounded down, also of negative numbers.
    static func floorDivision(_ number: Int, _ divisor: Int) -> Int {
        (number - floorRemainder(number, divisor)) / divisor
    }

    /// The remainder that is never negative.
    static func floorRemainder(_ number: Int, _ divisor: Int) -> Int {
        let remainder = number % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}

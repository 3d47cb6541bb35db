/// The times of a crontab line: minute, hour, day of month, month and day of week (POSIX
/// `crontab`), with names, steps and the shortcuts of Vixie cron.
package struct CronExpression: Equatable, Sendable {
    /// The expression as it was written.
    package let text: String
    let minutes: CronField.Values
    let hours: CronField.Values
    let days: CronField.Values
    let months: CronField.Values
    let weekdays: CronField.Values
    /// Whether the field of the hours begins with a star: an hour that comes twice then counts
    /// twice.
    let isEveryHour: Bool
    /// Whether the field of the days begins with a star; the weekdays alone then decide.
    let isEveryDay: Bool
    /// Whether the field of the weekdays begins with a star; the days alone then decide.
    let isEveryWeekday: Bool

    /// The longest expression in bytes.
    package static let bytesMax = 200

    /// A place in an expression where it stops making sense.
    package struct SyntaxError: Error, Equatable, Sendable {
        /// The number of bytes before it.
        package let offset: Int
        package let message: String
    }

    private static let shortcuts = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    ]

    /// Reads an expression.
    package init(_ text: String) throws(SyntaxError) {
        self.text = text
        guard text.utf8.count <= Self.bytesMax else {
            throw SyntaxError(
                offset: Self.bytesMax,
                message: "An expression has at most \(Self.bytesMax) bytes."
            )
        }
        let isShortcut = text.utf8.first == UInt8(ascii: "@")
        guard let written = isShortcut ? Self.shortcuts[text] : text else {
            throw SyntaxError(offset: 0, message: "There is no such shortcut.")
        }
        let words = Array(written.utf8).split(separator: UInt8(ascii: " "))
        guard words.count == CronField.allCases.count else {
            throw SyntaxError(
                offset: words.count < CronField.allCases.count
                    ? text.utf8.count : words[CronField.allCases.count].startIndex,
                message: "An expression has five fields: minute, hour, day, month and weekday."
            )
        }
        minutes = try CronField.minute.values(words[0])
        hours = try CronField.hour.values(words[1])
        days = try CronField.day.values(words[2])
        months = try CronField.month.values(words[3])
        weekdays = try CronField.weekday.values(words[4])
        let every = words.map { $0.first == UInt8(ascii: "*") }
        isEveryHour = every[1]
        isEveryDay = every[2]
        isEveryWeekday = every[4]
        // With a weekday beside it, the day need not exist.
        guard hasDay || !isEveryWeekday && !isEveryDay else {
            throw SyntaxError(
                offset: isShortcut ? 0 : words[2].startIndex,
                message: "None of the months has such a day."
            )
        }
    }

    /// Whether one of the months ever has one of the days.
    private var hasDay: Bool {
        (1...12).contains { month in
            months.contains(month)
                && (1...CivilDate.longestMonths[month - 1]).contains { days.contains($0) }
        }
    }

    /// Whether the day is one of the expression's.
    func contains(_ date: CivilDate) -> Bool {
        guard months.contains(date.month) else { return false }
        let isDay = days.contains(date.day)
        let isWeekday = weekdays.contains(date.weekday)
        // With both fields restricted, either is enough (POSIX `crontab`).
        return isEveryDay || isEveryWeekday ? isDay && isWeekday : isDay || isWeekday
    }
}

import Foundation
import TransferModel
import TransferWire

extension BackgroundTaskSubmission {
    /// Returns the request that this body asks for, and its client.
    ///
    /// - Throws: ``Problem`` with everything that is wrong.
    func request() throws(Problem) -> (BackgroundTaskRequest, ClientID) {
        var check = RangeCheck(pointer: "")
        let identifier = BackgroundTaskIdentifier(identifier)
        if identifier == nil {
            check.errors.append(
                FieldError(
                    pointer: "/identifier",
                    .invalidIdentifier,
                    BackgroundTaskIdentifier.rule
                )
            )
        }
        let client = client.map { ClientID($0) } ?? .default
        if client == nil {
            check.errors.append(
                FieldError(pointer: "/client", .invalidIdentifier, ClientRule.name)
            )
        }
        for (name, words) in [("title", title), ("subtitle", subtitle)] {
            guard let words, !RunWords.isValid(words) else { continue }
            check.refuse(name, RunWords.rule)
        }
        let strategy = strategy.map { BackgroundTaskRequest.Strategy(word: $0) } ?? .queue
        if strategy == nil { check.refuse("strategy", "Must be `queue` or `fail`.") }
        let minInterval = check.seconds(
            minIntervalSeconds,
            BackgroundTaskRequest.minIntervalRange,
            "min_interval_seconds"
        )
        let recurrence = self.recurrence?.recurrence(into: &check.errors)
        guard check.errors.isEmpty, let identifier, let client, let strategy else {
            throw Problem(check.errors)
        }
        var request = BackgroundTaskRequest(identifier: identifier)
        request.earliestBeginAt = earliestBeginAt?.date
        request.requiresNetworkConnectivity = requiresNetworkConnectivity ?? false
        request.requiresExternalPower = requiresExternalPower ?? false
        request.minInterval = minInterval
        request.recurrence = recurrence
        request.cancelsTransfersAtExpiry = cancelsTransfersAtExpiry ?? false
        request.completesWithTransfers = completesWithTransfers ?? false
        request.title = title
        request.subtitle = subtitle
        request.strategy = strategy
        return (request, client)
    }
}

extension RecurrenceDocument {
    /// Returns the recurrence; nil, with what is wrong in `errors`, if there is none of that form.
    fileprivate func recurrence(into errors: inout [FieldError]) -> Recurrence? {
        var check = RangeCheck(pointer: "/recurrence")
        let missed = missed.map { Recurrence.MissedPolicy(word: $0) } ?? .once
        if missed == nil { check.refuse("missed", "Must be `skip`, `once` or `all`.") }
        let jitter = check.seconds(jitterSeconds, Recurrence.jitterRange, "jitter_seconds")
        let interval = check.seconds(everySeconds, Recurrence.intervalRange, "every_seconds")
        var rule: Recurrence.Rule?
        switch (everySeconds, cron) {
        case (nil, nil), (.some, .some):
            check.errors.append(
                FieldError(
                    pointer: "/recurrence",
                    .invalidValue,
                    "Must have either `every_seconds` or `cron`."
                )
            )
        case (.some, nil):
            rule = interval.map { .every($0) }
            if timeZone != nil { check.refuse("time_zone", "Belongs to `cron`.") }
        case (nil, .some(let text)): rule = cronRule(text, &check)
        }
        errors += check.errors
        guard check.errors.isEmpty, let rule, let missed else { return nil }
        return Recurrence(rule: rule, missed: missed, jitter: jitter ?? .zero)
    }

    private func cronRule(_ text: String, _ check: inout RangeCheck) -> Recurrence.Rule? {
        let zone = TimeZone(knownAs: timeZone ?? "UTC")
        if zone == nil { check.refuse("time_zone", "Must be a name in the tz database.") }
        do throws(CronExpression.SyntaxError) {
            let expression = try CronExpression(text)
            return zone.map { .cron(expression, $0) }
        } catch {
            check.refuse("cron", "At byte \(error.offset): \(error.message)")
            return nil
        }
    }
}

extension TimeZone {
    /// The names of the tz database without a slash, but for `Factory`, which is that of no zone.
    ///
    /// They are listed because Foundation also takes abbreviations that are none of them, such as
    /// `PST`, and offsets, and because instances of one service need not have the same files.
    private static let namesWithoutSlash: Set<String> = [
        "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "GMT",
        "GMT+0", "GMT-0", "GMT0", "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel",
        "Jamaica", "Japan", "Kwajalein", "Libya", "MET", "MST", "MST7MDT", "NZ", "NZ-CHAT",
        "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK", "Singapore", "Turkey",
        "UCT", "UTC", "Universal", "W-SU", "WET", "Zulu",
    ]

    /// The zone with that name in the tz database; nil for an abbreviation or an offset, which
    /// Foundation would take too.
    fileprivate init?(knownAs name: String) {
        // All names are visible ASCII; Foundation reads some up to a NUL.
        guard name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            name.utf8.contains(UInt8(ascii: "/")) || Self.namesWithoutSlash.contains(name),
            let zone = TimeZone(identifier: name)
        else { return nil }
        self = zone
    }
}

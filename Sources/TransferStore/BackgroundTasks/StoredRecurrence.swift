import Foundation
import Postgres
import TransferModel

/// A recurrence as JSON in the database.
struct StoredRecurrence: Codable {
    var every_ms: Int64?
    var cron: String?
    var time_zone: String?
    let missed: String
    let jitter_ms: Int64

    init(_ recurrence: Recurrence) {
        switch recurrence.rule {
        case .every(let interval): every_ms = interval.milliseconds
        case .cron(let expression, let zone):
            cron = expression.text
            time_zone = zone.identifier
        }
        missed = recurrence.missed.rawValue
        jitter_ms = recurrence.jitter.milliseconds
    }

    func recurrence() throws(StoreError) -> Recurrence {
        guard let missed = Recurrence.MissedPolicy(rawValue: missed) else {
            throw StoreError(decoding: "an unknown policy of a stored recurrence")
        }
        return Recurrence(rule: try rule(), missed: missed, jitter: .milliseconds(jitter_ms))
    }

    private func rule() throws(StoreError) -> Recurrence.Rule {
        if let every_ms { return .every(.milliseconds(every_ms)) }
        guard let cron, let time_zone, let zone = TimeZone(identifier: time_zone) else {
            throw StoreError(decoding: "a stored recurrence without a rule")
        }
        do throws(CronExpression.SyntaxError) {
            return .cron(try CronExpression(cron), zone)
        } catch {
            throw StoreError(decoding: "a stored cron expression that cannot be read")
        }
    }
}

/// A recurrence as a request gives it, and as it is read back.
public struct RecurrenceDocument: Codable, Equatable, Sendable {
    /// The seconds between two occurrences; excludes ``cron``.
    public var everySeconds: Double?
    /// A cron expression of five fields.
    public var cron: String?
    /// The name of the time zone of ``cron`` in the tz database; `UTC` unless given.
    public var timeZone: String?
    /// What becomes of missed occurrences: `skip`, `once` or `all`; `once` unless given.
    public var missed: String?
    /// The longest random delay of a launch in seconds.
    public var jitterSeconds: Double?

    /// Creates the value from its parts.
    public init() {}

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        everySeconds = try container.decodeIfPresent(Double.self, forKey: .everySeconds)
        cron = try container.decodeIfPresent(String.self, forKey: .cron)
        timeZone = try container.decodeIfPresent(String.self, forKey: .timeZone)
        missed = try container.decodeIfPresent(String.self, forKey: .missed)
        jitterSeconds = try container.decodeIfPresent(Double.self, forKey: .jitterSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case cron, missed
        case everySeconds = "every_seconds"
        case timeZone = "time_zone"
        case jitterSeconds = "jitter_seconds"
    }
}

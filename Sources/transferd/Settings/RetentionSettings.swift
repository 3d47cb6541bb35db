import TransferEngine

/// How long what has ended is kept.
struct RetentionSettings: Sendable {
    static let resultsDefaultInDays = 7
    static let resultsRangeInDays = 1...3650
    static let sessionsDefaultInDays = 30
    static let sessionsRangeInDays = 1...3650

    /// At least so long.
    let events: Duration
    /// Ended attempts; at least so long.
    let attempts: Duration
    /// Ended tasks whose session says nothing else.
    let results: Duration
    /// Ended sessions and deleted subscriptions; at least so long.
    let sessions: Duration
    /// Entries of the audit log; at least so long.
    let audit: Duration

    init(_ options: ServiceOptions, _ reader: inout SettingsReader) {
        events = reader.days(
            options.eventsRetention,
            "TRANSFERD_EVENTS_RETENTION",
            in: Pruner.retentionRangeInDays,
            default: Pruner.retentionDefaultInDays
        )
        attempts = reader.days(
            options.attemptsRetention,
            "TRANSFERD_ATTEMPTS_RETENTION",
            in: Pruner.retentionRangeInDays,
            default: Pruner.retentionDefaultInDays
        )
        results = reader.days(
            options.resultsRetention,
            "TRANSFERD_RESULTS_RETENTION",
            in: Self.resultsRangeInDays,
            default: Self.resultsDefaultInDays
        )
        sessions = reader.days(
            options.sessionsRetention,
            "TRANSFERD_SESSIONS_RETENTION",
            in: Self.sessionsRangeInDays,
            default: Self.sessionsDefaultInDays
        )
        audit = reader.days(
            options.auditRetention,
            "TRANSFERD_AUDIT_RETENTION",
            in: Pruner.auditRetentionRangeInDays,
            default: Pruner.auditRetentionDefaultInDays
        )
    }
}

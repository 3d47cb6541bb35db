/// A tenant's settings for background work.
public struct BackgroundSettingsDocument: Codable, Sendable {
    /// Identifiers that may be registered, and beginnings followed by `*`.
    public let permittedIdentifiers: [String]
    /// Whether requests are taken and launched.
    public let enabled: Bool
    /// Whether there is room for work that can wait: `idle` or `busy`.
    public let capacity: String
    /// The seconds that the assertions of a client may last.
    public let assertionBudgetSeconds: Double
    /// The seconds of a run of the kind `app_refresh`.
    public let appRefreshSeconds: Double
    /// The seconds of a run of the kind `processing`.
    public let processingSeconds: Double

    /// Creates the value from its parts.
    public init(
        permittedIdentifiers: [String],
        enabled: Bool,
        capacity: String,
        assertionBudgetSeconds: Double,
        appRefreshSeconds: Double,
        processingSeconds: Double
    ) {
        self.permittedIdentifiers = permittedIdentifiers
        self.enabled = enabled
        self.capacity = capacity
        self.assertionBudgetSeconds = assertionBudgetSeconds
        self.appRefreshSeconds = appRefreshSeconds
        self.processingSeconds = processingSeconds
    }

    private enum CodingKeys: String, CodingKey {
        case enabled, capacity
        case permittedIdentifiers = "permitted_identifiers"
        case assertionBudgetSeconds = "assertion_budget_seconds"
        case appRefreshSeconds = "app_refresh_seconds"
        case processingSeconds = "processing_seconds"
    }
}

/// A tenant's settings for background work.
package struct BackgroundSettingsDocument: Codable, Sendable {
    /// Identifiers that may be registered, and beginnings followed by `*`.
    package let permittedIdentifiers: [String]
    /// Whether requests are taken and launched.
    package let enabled: Bool
    /// Whether there is room for work that can wait: `idle` or `busy`.
    package let capacity: String
    package let assertionBudgetSeconds: Double
    package let appRefreshSeconds: Double
    package let processingSeconds: Double

    package init(
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

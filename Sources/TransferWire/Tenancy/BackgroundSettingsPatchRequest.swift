/// The body of `PATCH /v1/tenant/background-settings`; an absent member stays as it is.
package struct BackgroundSettingsPatchRequest: Decodable, Sendable {
    package let permittedIdentifiers: [String]?
    package let enabled: Bool?
    package let capacity: String?
    package let assertionBudgetSeconds: Double?
    package let appRefreshSeconds: Double?
    package let processingSeconds: Double?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        permittedIdentifiers = try container.decodeIfPresent(
            [String].self,
            forKey: .permittedIdentifiers
        )
        enabled = try container.decodeIfPresent(Bool.self, forKey: .enabled)
        capacity = try container.decodeIfPresent(String.self, forKey: .capacity)
        assertionBudgetSeconds = try container.decodeIfPresent(
            Double.self,
            forKey: .assertionBudgetSeconds
        )
        appRefreshSeconds = try container.decodeIfPresent(Double.self, forKey: .appRefreshSeconds)
        processingSeconds = try container.decodeIfPresent(Double.self, forKey: .processingSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case enabled, capacity
        case permittedIdentifiers = "permitted_identifiers"
        case assertionBudgetSeconds = "assertion_budget_seconds"
        case appRefreshSeconds = "app_refresh_seconds"
        case processingSeconds = "processing_seconds"
    }
}

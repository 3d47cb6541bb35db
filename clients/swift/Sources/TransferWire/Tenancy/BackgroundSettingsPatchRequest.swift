/// The body of `PATCH /v1/tenant/background-settings`; an absent member stays as it is.
public struct BackgroundSettingsPatchRequest: Codable, Sendable {
    /// The identifiers of background tasks that may be registered.
    public let permittedIdentifiers: [String]?
    /// Whether background tasks are launched.
    public let enabled: Bool?
    /// Whether there is room for work that can wait: `idle` or `busy`.
    public let capacity: String?
    /// The seconds that the assertions of a client may last.
    public let assertionBudgetSeconds: Double?
    /// The seconds of a run of the kind `app_refresh`.
    public let appRefreshSeconds: Double?
    /// The seconds of a run of the kind `processing`.
    public let processingSeconds: Double?

    /// Creates a request; what is nil is absent.
    public init(
        permittedIdentifiers: [String]? = nil,
        enabled: Bool? = nil,
        capacity: String? = nil,
        assertionBudgetSeconds: Double? = nil,
        appRefreshSeconds: Double? = nil,
        processingSeconds: Double? = nil
    ) {
        self.permittedIdentifiers = permittedIdentifiers
        self.enabled = enabled
        self.capacity = capacity
        self.assertionBudgetSeconds = assertionBudgetSeconds
        self.appRefreshSeconds = appRefreshSeconds
        self.processingSeconds = processingSeconds
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
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

/// The body of `POST …/runs/{id}/progress`.
public struct RunProgressRequest: Codable, Sendable {
    /// The number of units that are done.
    public let completedUnitCount: Int64
    /// The number of all units.
    public let totalUnitCount: Int64
    /// The words now shown to the user; nil leaves them as they are.
    public let title: String?
    /// The line below the title.
    public let subtitle: String?

    /// Creates a request; what is nil is absent.
    public init(
        completedUnitCount: Int64,
        totalUnitCount: Int64,
        title: String? = nil,
        subtitle: String? = nil
    ) {
        self.completedUnitCount = completedUnitCount
        self.totalUnitCount = totalUnitCount
        self.title = title
        self.subtitle = subtitle
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        completedUnitCount = try container.decode(Int64.self, forKey: .completedUnitCount)
        totalUnitCount = try container.decode(Int64.self, forKey: .totalUnitCount)
        title = try container.decodeIfPresent(String.self, forKey: .title)
        subtitle = try container.decodeIfPresent(String.self, forKey: .subtitle)
    }

    private enum CodingKeys: String, CodingKey {
        case title, subtitle
        case completedUnitCount = "completed_unit_count"
        case totalUnitCount = "total_unit_count"
    }
}

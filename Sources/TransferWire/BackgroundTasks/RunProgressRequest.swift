/// The body of `POST …/runs/{id}/progress`.
package struct RunProgressRequest: Decodable, Sendable {
    package let completedUnitCount: Int64
    package let totalUnitCount: Int64
    /// The words now shown to the user; nil leaves them as they are.
    package let title: String?
    package let subtitle: String?

    package init(from decoder: any Decoder) throws {
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

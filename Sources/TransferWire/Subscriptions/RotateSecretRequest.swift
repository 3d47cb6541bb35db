/// The body of `POST …/rotate-secret`, which may be omitted.
package struct RotateSecretRequest: Decodable, Sendable {
    /// The seconds for which the earlier secrets still sign.
    package let overlapSeconds: Int64?

    package init() { overlapSeconds = nil }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        overlapSeconds = try container.decodeIfPresent(Int64.self, forKey: .overlapSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case overlapSeconds = "overlap_seconds"
    }
}

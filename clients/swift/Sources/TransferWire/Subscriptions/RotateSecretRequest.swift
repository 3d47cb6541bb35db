/// The body of `POST …/rotate-secret`, which may be omitted.
public struct RotateSecretRequest: Codable, Sendable {
    /// The seconds for which the earlier secrets still sign.
    public let overlapSeconds: Int64?

    /// Creates a request; what is nil is absent.
    public init(overlapSeconds: Int64? = nil) { self.overlapSeconds = overlapSeconds }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        overlapSeconds = try container.decodeIfPresent(Int64.self, forKey: .overlapSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case overlapSeconds = "overlap_seconds"
    }
}

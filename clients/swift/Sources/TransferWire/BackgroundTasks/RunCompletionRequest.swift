/// The body of `POST …/runs/{id}/complete`.
public struct RunCompletionRequest: Codable, Sendable {
    /// Whether the work was done.
    public let success: Bool

    /// Creates a request.
    public init(success: Bool) { self.success = success }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        success = try container.decode(Bool.self, forKey: .success)
    }

    private enum CodingKeys: CodingKey {
        case success
    }
}

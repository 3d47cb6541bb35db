/// The body of `POST …/runs/{id}/extend`.
public struct RunExtensionRequest: Codable, Sendable {
    /// The seconds that the run has at least, from when the request arrives.
    public let seconds: Double

    /// Creates a request.
    public init(seconds: Double) { self.seconds = seconds }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        seconds = try container.decode(Double.self, forKey: .seconds)
    }

    private enum CodingKeys: CodingKey {
        case seconds
    }
}

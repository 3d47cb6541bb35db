/// The body of `POST …/events/ack`.
public struct AckRequest: Codable, Sendable {
    /// The token of the message that is acknowledged.
    public let ackToken: String

    /// Creates a request.
    public init(ackToken: String) { self.ackToken = ackToken }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        ackToken = try container.decode(String.self, forKey: .ackToken)
    }

    private enum CodingKeys: String, CodingKey {
        case ackToken = "ack_token"
    }
}

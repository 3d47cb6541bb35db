/// The body of `POST …/events/ack`.
package struct AckRequest: Decodable, Sendable {
    /// The token of the message that is acknowledged.
    package let ackToken: String

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        ackToken = try container.decode(String.self, forKey: .ackToken)
    }

    private enum CodingKeys: String, CodingKey {
        case ackToken = "ack_token"
    }
}

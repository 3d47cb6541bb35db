/// The body of `POST /v1/sessions/{identifier}/bulk-operations`.
public struct BulkOperationRequest: Codable, Sendable {
    /// The verb that each task gets.
    public let verb: String
    /// The states of the tasks that get it; nil for those that the verb has by default.
    public let states: [String]?

    /// Creates a request; what is nil is absent.
    public init(verb: String, states: [String]? = nil) {
        self.verb = verb
        self.states = states
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        verb = try container.decode(String.self, forKey: .verb)
        states = try container.decodeIfPresent([String].self, forKey: .states)
    }

    private enum CodingKeys: String, CodingKey {
        case verb, states
    }
}

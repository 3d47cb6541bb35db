/// The body of `POST /v1/sessions/{identifier}/bulk-operations`.
package struct BulkOperationRequest: Decodable, Sendable {
    /// The verb that each task gets.
    package let verb: String
    /// The states of the tasks that get it; nil for those that the verb has by default.
    package let states: [String]?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        verb = try container.decode(String.self, forKey: .verb)
        states = try container.decodeIfPresent([String].self, forKey: .states)
    }

    private enum CodingKeys: String, CodingKey {
        case verb, states
    }
}

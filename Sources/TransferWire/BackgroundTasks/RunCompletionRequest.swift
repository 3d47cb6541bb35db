/// The body of `POST …/runs/{id}/complete`.
package struct RunCompletionRequest: Decodable, Sendable {
    /// Whether the work was done.
    package let success: Bool

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        success = try container.decode(Bool.self, forKey: .success)
    }

    private enum CodingKeys: CodingKey {
        case success
    }
}

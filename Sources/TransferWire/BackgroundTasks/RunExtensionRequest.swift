/// The body of `POST …/runs/{id}/extend`.
package struct RunExtensionRequest: Decodable, Sendable {
    /// The seconds by which the deadline is moved.
    package let seconds: Double

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        seconds = try container.decode(Double.self, forKey: .seconds)
    }

    private enum CodingKeys: CodingKey {
        case seconds
    }
}

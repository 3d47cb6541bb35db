/// The place where a client wants a result.
package struct DestinationRequest: Decodable, Sendable {
    /// The relative path in the tenant's container.
    package let path: String
    /// Whether an existing file is replaced; otherwise the task fails.
    package let overwrite: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        path = try container.decode(String.self, forKey: .path)
        overwrite = try container.decodeIfPresent(Bool.self, forKey: .overwrite)
    }

    private enum CodingKeys: CodingKey {
        case path, overwrite
    }
}

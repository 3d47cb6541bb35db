/// The place where a client wants a result.
package struct DestinationRequest: Decodable, Sendable {
    package let path: String
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

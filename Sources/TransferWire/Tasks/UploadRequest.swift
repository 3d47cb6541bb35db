/// The source of the bytes of an upload: exactly one of the three.
package struct UploadRequest: Decodable, Sendable {
    package let path: String?
    /// The bytes in base64.
    package let data: String?
    package let staged: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        path = try container.decodeIfPresent(String.self, forKey: .path)
        data = try container.decodeIfPresent(String.self, forKey: .data)
        staged = try container.decodeIfPresent(Bool.self, forKey: .staged)
    }

    private enum CodingKeys: CodingKey {
        case path, data, staged
    }
}

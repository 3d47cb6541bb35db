/// The source of the bytes of an upload: exactly one of the three.
package struct UploadRequest: Decodable, Sendable {
    /// The relative path of a file in the tenant's container.
    package let path: String?
    /// The bytes themselves.
    package let body: BodyRequest?
    /// Whether the client sends the bytes with `PUT …/body`.
    package let staged: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        path = try container.decodeIfPresent(String.self, forKey: .path)
        body = try container.decodeIfPresent(BodyRequest.self, forKey: .body)
        staged = try container.decodeIfPresent(Bool.self, forKey: .staged)
    }

    private enum CodingKeys: CodingKey {
        case path, body, staged
    }
}

extension UploadRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var path: String??
        var body: BodyRequest??
        var staged: Bool??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .path: try reader.read(into: &path)
            case .body: try reader.read(into: &body)
            case .staged: try reader.read(into: &staged)
            case nil: throw JSONReader.Refusal()
            }
        }
        self.path = path ?? nil
        self.body = body ?? nil
        self.staged = staged ?? nil
    }
}

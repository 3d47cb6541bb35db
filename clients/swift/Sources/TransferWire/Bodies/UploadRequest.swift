/// The source of the bytes of an upload: exactly one of the four.
public struct UploadRequest: Codable, Sendable {
    /// The relative path of a file in the tenant's container.
    public let path: String?
    /// The bytes themselves.
    public let body: BodyRequest?
    /// Whether the client sends the bytes with `PUT …/body`.
    public let staged: Bool?
    /// Bytes that lie elsewhere.
    public let copy: CopyRequest?

    /// Creates a request; what is nil is absent.
    public init(
        path: String? = nil,
        body: BodyRequest? = nil,
        staged: Bool? = nil,
        copy: CopyRequest? = nil
    ) {
        self.path = path
        self.body = body
        self.staged = staged
        self.copy = copy
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        path = try container.decodeIfPresent(String.self, forKey: .path)
        body = try container.decodeIfPresent(BodyRequest.self, forKey: .body)
        staged = try container.decodeIfPresent(Bool.self, forKey: .staged)
        copy = try container.decodeIfPresent(CopyRequest.self, forKey: .copy)
    }

    private enum CodingKeys: CodingKey {
        case path, body, staged, copy
    }
}

extension UploadRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var path: String??
        var body: BodyRequest??
        var staged: Bool??
        var copy: CopyRequest??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .path: try reader.read(into: &path)
            case .body: try reader.read(into: &body)
            case .staged: try reader.read(into: &staged)
            case .copy: try reader.read(into: &copy)
            case nil: throw JSONReader.Refusal()
            }
        }
        self.path = path ?? nil
        self.body = body ?? nil
        self.staged = staged ?? nil
        self.copy = copy ?? nil
    }
}

/// The place where a client wants a result.
public struct DestinationRequest: Codable, Sendable {
    /// The relative path in the tenant's container.
    public let path: String
    /// Whether an existing file is replaced; otherwise the task fails.
    public let overwrite: Bool?

    /// Creates a request; what is nil is absent.
    public init(path: String, overwrite: Bool? = nil) {
        self.path = path
        self.overwrite = overwrite
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        path = try container.decode(String.self, forKey: .path)
        overwrite = try container.decodeIfPresent(Bool.self, forKey: .overwrite)
    }

    private enum CodingKeys: CodingKey {
        case path, overwrite
    }
}

extension DestinationRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var path: String??
        var overwrite: Bool??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .path: try reader.read(into: &path)
            case .overwrite: try reader.read(into: &overwrite)
            case nil: throw JSONReader.Refusal()
            }
        }
        guard case .some(let path?) = path else { throw JSONReader.Refusal() }
        self.path = path
        self.overwrite = overwrite ?? nil
    }
}

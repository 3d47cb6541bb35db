/// What an upload copies: exactly one of ``task`` and ``url``.
public struct CopyRequest: Codable, Sendable {
    /// The completed download whose result is sent.
    public let task: String?
    /// The address whose content is sent.
    public let url: String?
    /// The headers of the request for ``url``.
    public let headers: [String: String]?

    /// Creates a request; what is nil is absent.
    public init(task: String? = nil, url: String? = nil, headers: [String: String]? = nil) {
        self.task = task
        self.url = url
        self.headers = headers
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        task = try container.decodeIfPresent(String.self, forKey: .task)
        url = try container.decodeIfPresent(String.self, forKey: .url)
        headers = try container.decodeIfPresent([String: String].self, forKey: .headers)
    }

    private enum CodingKeys: CodingKey {
        case task, url, headers
    }
}

extension CopyRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var task: String??
        var url: String??
        var headers: [String: String]??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .task: try reader.read(into: &task)
            case .url: try reader.read(into: &url)
            case .headers: try reader.read(into: &headers)
            case nil: throw JSONReader.Refusal()
            }
        }
        self.task = task ?? nil
        self.url = url ?? nil
        self.headers = headers ?? nil
    }
}

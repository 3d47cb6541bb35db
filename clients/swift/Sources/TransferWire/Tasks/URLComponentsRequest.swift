/// The parts of an absolute URL, not encoded, as in `URLComponents`.
public struct URLComponentsRequest: Codable, Sendable {
    /// The scheme: `http` or `https`.
    public let scheme: String
    /// An ASCII name or an IP address.
    public let host: String
    /// The port; absent for that of the scheme.
    public let port: Int?
    /// The path, which is empty or begins with a slash.
    public let path: String?
    /// The items of the query.
    public let queryItems: [URLQueryItemRequest]?

    /// Creates a request; what is nil is absent.
    public init(
        scheme: String,
        host: String,
        port: Int? = nil,
        path: String? = nil,
        queryItems: [URLQueryItemRequest]? = nil
    ) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.queryItems = queryItems
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        scheme = try container.decode(String.self, forKey: .scheme)
        host = try container.decode(String.self, forKey: .host)
        port = try container.decodeIfPresent(Int.self, forKey: .port)
        path = try container.decodeIfPresent(String.self, forKey: .path)
        queryItems = try container.decodeIfPresent([URLQueryItemRequest].self, forKey: .queryItems)
    }

    private enum CodingKeys: String, CodingKey {
        case scheme, host, port, path
        case queryItems = "query_items"
    }
}

extension URLComponentsRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var scheme: String??
        var host: String??
        var port: Int??
        var path: String??
        var queryItems: [URLQueryItemRequest]??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .scheme: try reader.read(into: &scheme)
            case .host: try reader.read(into: &host)
            case .port: try reader.read(into: &port)
            case .path: try reader.read(into: &path)
            case .queryItems: try reader.read(into: &queryItems)
            case nil: throw JSONReader.Refusal()
            }
        }
        guard case .some(let scheme?) = scheme, case .some(let host?) = host else {
            throw JSONReader.Refusal()
        }
        self.scheme = scheme
        self.host = host
        self.port = port ?? nil
        self.path = path ?? nil
        self.queryItems = queryItems ?? nil
    }
}

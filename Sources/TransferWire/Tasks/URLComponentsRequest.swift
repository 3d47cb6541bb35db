/// The parts of an absolute URL, not encoded, as in `URLComponents`.
package struct URLComponentsRequest: Decodable, Sendable {
    package let scheme: String
    package let host: String
    package let port: Int?
    package let path: String?
    package let queryItems: [URLQueryItemRequest]?

    package init(from decoder: any Decoder) throws {
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

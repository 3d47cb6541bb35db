/// One name of a query with its value; without a value, the name stands alone.
public struct URLQueryItemRequest: Codable, Sendable {
    /// The name of the item.
    public let name: String
    /// The value; absent when the name stands alone.
    public let value: String?

    /// Creates a request; what is nil is absent.
    public init(name: String, value: String? = nil) {
        self.name = name
        self.value = value
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        value = try container.decodeIfPresent(String.self, forKey: .value)
    }

    private enum CodingKeys: CodingKey {
        case name, value
    }
}

extension URLQueryItemRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var name: String??
        var value: String??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .name: try reader.read(into: &name)
            case .value: try reader.read(into: &value)
            case nil: throw JSONReader.Refusal()
            }
        }
        guard case .some(let name?) = name else { throw JSONReader.Refusal() }
        self.name = name
        self.value = value ?? nil
    }
}

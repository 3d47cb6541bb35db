/// One name of a query with its value; without a value, the name stands alone.
package struct URLQueryItemRequest: Decodable, Sendable {
    /// The name of the item.
    package let name: String
    /// The value; absent when the name stands alone.
    package let value: String?

    package init(from decoder: any Decoder) throws {
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

/// Bytes that a task sends and that come with the task itself: exactly one of the four.
public struct BodyRequest: Codable, Sendable {
    /// Any bytes, in base64.
    public let base64: String?
    /// Text, sent in UTF-8.
    public let text: String?
    /// A value that is sent as JSON.
    public let json: JSONValue?
    /// The fields of a form, sent in this order as `application/x-www-form-urlencoded`.
    public let form: [Field]?

    /// A field of a form.
    public struct Field: Codable, Sendable {
        /// The name that the client gave it.
        public let name: String
        /// The value.
        public let value: String

        /// Creates a request.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Reads an object that has no other members.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            value = try container.decode(String.self, forKey: .value)
        }

        private enum CodingKeys: CodingKey {
            case name, value
        }
    }

    /// Creates a request; what is nil is absent.
    public init(
        base64: String? = nil,
        text: String? = nil,
        json: JSONValue? = nil,
        form: [Field]? = nil
    ) {
        self.base64 = base64
        self.text = text
        self.json = json
        self.form = form
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        base64 = try container.decodeIfPresent(String.self, forKey: .base64)
        text = try container.decodeIfPresent(String.self, forKey: .text)
        form = try container.decodeIfPresent([Field].self, forKey: .form)
        do {
            json = try container.decodeIfPresent(JSONValue.self, forKey: .json)
        } catch {
            // A number such as 1e999; every other value is one of the cases.
            throw FieldError(
                pointer: JSONPointer.rendering(decoder.codingPath + [CodingKeys.json]),
                .invalidValue,
                "Holds what cannot be represented."
            )
        }
    }

    private enum CodingKeys: CodingKey {
        case base64, text, json, form
    }
}

extension BodyRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var base64: String??
        var text: String??
        var json: JSONValue??
        var form: [Field]??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .base64: try reader.read(into: &base64)
            case .text: try reader.read(into: &text)
            case .json: try reader.read(into: &json)
            case .form: try reader.read(into: &form)
            case nil: throw JSONReader.Refusal()
            }
        }
        self.base64 = base64 ?? nil
        self.text = text ?? nil
        self.json = json ?? nil
        self.form = form ?? nil
    }
}

extension BodyRequest.Field: JSONReadable {
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
        guard case .some(let name?) = name, case .some(let value?) = value else {
            throw JSONReader.Refusal()
        }
        self.name = name
        self.value = value
    }
}

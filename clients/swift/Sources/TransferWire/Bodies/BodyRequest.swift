/// Bytes that a task sends and that come with the task itself: exactly one of the five.
public struct BodyRequest: Codable, Sendable {
    /// Any bytes, in base64.
    public let base64: String?
    /// Text, sent in UTF-8.
    public let text: String?
    /// A value that is sent as JSON.
    public let json: JSONValue?
    /// The fields of a form, sent in this order as `application/x-www-form-urlencoded`.
    public let form: [Field]?
    /// The parts of a form with files, sent in this order as `multipart/form-data`.
    public let multipart: [Part]?

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

    /// A part of a form with files: exactly one of ``text`` and ``base64``.
    public struct Part: Codable, Sendable {
        /// The name that the client gave it.
        public let name: String
        /// Text, sent in UTF-8.
        public let text: String?
        /// Any bytes, in base64.
        public let base64: String?
        /// The name of the file; nil for a part that is none.
        public let filename: String?
        /// The media type of the part.
        public let contentType: String?

        /// Creates a request; what is nil is absent.
        public init(
            name: String,
            text: String? = nil,
            base64: String? = nil,
            filename: String? = nil,
            contentType: String? = nil
        ) {
            self.name = name
            self.text = text
            self.base64 = base64
            self.filename = filename
            self.contentType = contentType
        }

        /// Reads an object that has no other members.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            text = try container.decodeIfPresent(String.self, forKey: .text)
            base64 = try container.decodeIfPresent(String.self, forKey: .base64)
            filename = try container.decodeIfPresent(String.self, forKey: .filename)
            contentType = try container.decodeIfPresent(String.self, forKey: .contentType)
        }

        private enum CodingKeys: String, CodingKey {
            case name, text, base64, filename
            case contentType = "content_type"
        }
    }

    /// Creates a request; what is nil is absent.
    public init(
        base64: String? = nil,
        text: String? = nil,
        json: JSONValue? = nil,
        form: [Field]? = nil,
        multipart: [Part]? = nil
    ) {
        self.base64 = base64
        self.text = text
        self.json = json
        self.form = form
        self.multipart = multipart
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        base64 = try container.decodeIfPresent(String.self, forKey: .base64)
        text = try container.decodeIfPresent(String.self, forKey: .text)
        form = try container.decodeIfPresent([Field].self, forKey: .form)
        multipart = try container.decodeIfPresent([Part].self, forKey: .multipart)
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
        case base64, text, json, form, multipart
    }
}

extension BodyRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var base64: String??
        var text: String??
        var json: JSONValue??
        var form: [Field]??
        var multipart: [Part]??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .base64: try reader.read(into: &base64)
            case .text: try reader.read(into: &text)
            case .json: try reader.read(into: &json)
            case .form: try reader.read(into: &form)
            case .multipart: try reader.read(into: &multipart)
            case nil: throw JSONReader.Refusal()
            }
        }
        self.base64 = base64 ?? nil
        self.text = text ?? nil
        self.json = json ?? nil
        self.form = form ?? nil
        self.multipart = multipart ?? nil
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

extension BodyRequest.Part: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var name: String??
        var text: String??
        var base64: String??
        var filename: String??
        var contentType: String??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .name: try reader.read(into: &name)
            case .text: try reader.read(into: &text)
            case .base64: try reader.read(into: &base64)
            case .filename: try reader.read(into: &filename)
            case .contentType: try reader.read(into: &contentType)
            case nil: throw JSONReader.Refusal()
            }
        }
        guard case .some(let name?) = name else { throw JSONReader.Refusal() }
        self.name = name
        self.text = text ?? nil
        self.base64 = base64 ?? nil
        self.filename = filename ?? nil
        self.contentType = contentType ?? nil
    }
}

/// Bytes that a task sends and that come with the task itself: exactly one of the four.
package struct BodyRequest: Decodable, Sendable {
    /// Any bytes, in base64.
    package let base64: String?
    /// Text, sent in UTF-8.
    package let text: String?
    /// A value that is sent as JSON.
    package let json: JSONValue?
    /// The fields of a form, sent in this order as `application/x-www-form-urlencoded`.
    package let form: [Field]?

    /// A field of a form.
    package struct Field: Decodable, Sendable {
        package let name: String
        package let value: String

        package init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            value = try container.decode(String.self, forKey: .value)
        }

        private enum CodingKeys: CodingKey {
            case name, value
        }
    }

    package init(from decoder: any Decoder) throws {
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

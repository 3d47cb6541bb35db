/// The options for transfers, as members of a session's configuration or of a task.
///
/// They have their names and values from the service's declarations, so that this type knows none
/// of them: every member that the surrounding object does not know itself is an option.
public struct OptionMembers: Equatable, Sendable {
    /// The values by name; a group of options is an object.
    public var values: [String: JSONValue] = [:]

    /// Creates the value from its parts.
    public init(_ values: [String: JSONValue] = [:]) { self.values = values }

    /// Reads the members of an object except those that `Key` knows.
    ///
    /// A null stands for an absent option, and is kept: under the name of none it is a fault.
    init<Key: CodingKey>(from decoder: any Decoder, besides: Key.Type) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for key in container.allKeys where Key(stringValue: key.stringValue) == nil {
            do {
                values[key.stringValue] = try container.decode(JSONValue.self, forKey: key)
            } catch {
                // A number such as 1e999; every other value is one of the cases.
                throw FieldError(
                    pointer: JSONPointer.rendering(decoder.codingPath + [key]),
                    .invalidValue,
                    "Holds what cannot be represented."
                )
            }
        }
    }

    /// Reads one more member, which is there once.
    mutating func read(
        _ name: String,
        from reader: inout JSONReader
    ) throws(JSONReader.Refusal) {
        guard values.updateValue(try reader.value(), forKey: name) == nil else {
            throw JSONReader.Refusal()
        }
    }

    /// Adds the members to the object that is being encoded.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        for (name, value) in values {
            try container.encode(value, forKey: AnyKey(stringValue: name))
        }
    }
}

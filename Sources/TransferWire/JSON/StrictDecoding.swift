/// A name in a JSON object, or an index in an array, whatever it is.
package struct AnyKey: CodingKey {
    package let stringValue: String
    package let intValue: Int?

    package init(stringValue: String) {
        self.stringValue = stringValue
        self.intValue = nil
    }

    package init(intValue: Int) {
        self.stringValue = String(intValue)
        self.intValue = intValue
    }
}

extension Decoder {
    /// A keyed container of an object that has no other names than those of `keys` and `others`.
    ///
    /// - Throws: ``FieldError`` for the first unknown name: a misspelt option that is silently
    ///   ignored is worse than a refused request.
    func strictContainer<Key: CodingKey>(
        keyedBy keys: Key.Type,
        or others: (any CodingKey.Type)? = nil
    ) throws -> KeyedDecodingContainer<Key> {
        for key in try container(keyedBy: AnyKey.self).allKeys
        where Key(stringValue: key.stringValue) == nil
            && others?.init(stringValue: key.stringValue) == nil
        {
            throw FieldError(
                pointer: JSONPointer.rendering(codingPath + [key]),
                .unknownField,
                "There is no such field."
            )
        }
        return try container(keyedBy: keys)
    }
}

/// A part of a body that is decoded as far as it is valid, so that all faults can be told at once.
package struct Checked<Value: Decodable & Sendable>: Decodable, Sendable {
    package let result: Result<Value, FieldError>

    package init(from decoder: any Decoder) throws {
        do {
            result = .success(try Value(from: decoder))
        } catch let error as FieldError {
            result = .failure(error)
        } catch let error as DecodingError {
            result = .failure(FieldError(error))
        } catch {
            // Foundation throws an error of its own for numbers and escapes without a value, and
            // does not say where they are.
            let pointer = JSONPointer.rendering(decoder.codingPath)
            result = .failure(
                FieldError(pointer: pointer, .invalidValue, "Holds what cannot be represented.")
            )
        }
    }

    private init(_ result: Result<Value, FieldError>) { self.result = result }

    /// The same, found at `pointer` in a larger body.
    func moved(to pointer: String) -> Self {
        Self(
            result.mapError { error in
                FieldError(pointer: pointer + (error.pointer ?? ""), error.code, error.detail)
            }
        )
    }
}

extension FieldError {
    /// The place and kind of what a decoder stumbled over.
    init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(
                pointer: JSONPointer.rendering(context.codingPath + [key]),
                .required,
                "Is required."
            )
        case .typeMismatch(let type, let context):
            self.init(
                pointer: JSONPointer.rendering(context.codingPath),
                .wrongType,
                "Must be \(Self.name(of: type))."
            )
        case .valueNotFound(let type, let context):
            self.init(
                pointer: JSONPointer.rendering(context.codingPath),
                .wrongType,
                "Must be \(Self.name(of: type)), not null."
            )
        case .dataCorrupted(let context):
            self.init(
                pointer: JSONPointer.rendering(context.codingPath),
                .invalidValue,
                "Has a value that cannot be represented."
            )
        @unknown default:
            self.init(pointer: "", .invalidValue, "Has a value that cannot be represented.")
        }
    }

    /// The JSON type behind a Swift type.
    static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is Int.Type, is Int64.Type: "a whole number"
        case is Double.Type: "a number"
        case is [Any].Type: "an array"
        default: "an object"
        }
    }
}

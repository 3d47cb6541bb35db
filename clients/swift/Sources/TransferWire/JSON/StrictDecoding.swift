extension Decoder {
    /// Returns a keyed container of an object that has no other names than those of `keys`, unless
    /// it is the answer of a service that may be newer.
    ///
    /// - Throws: ``FieldError`` for the first unknown name: a misspelt option that is silently
    ///   ignored is worse than a refused request.
    func strictContainer<Key: CodingKey>(
        keyedBy keys: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        guard !isAnswer else { return try container(keyedBy: keys) }
        for key in try container(keyedBy: AnyKey.self).allKeys
        where Key(stringValue: key.stringValue) == nil {
            throw FieldError(
                pointer: JSONPointer.rendering(codingPath + [key]),
                .unknownField,
                "There is no such field."
            )
        }
        return try container(keyedBy: keys)
    }

    /// Whether ``WireDecoder`` decodes an answer.
    private var isAnswer: Bool { CodingUserInfoKey.answer.map { userInfo[$0] != nil } ?? false }
}

extension FieldError {
    /// Describes the place and kind of a decoding error.
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

    /// Returns the name of the JSON type of a Swift type.
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

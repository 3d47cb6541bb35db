// Foundation throws its own error for a number or a text that has no value, such as 1.5 where a
// whole number is expected, and does not say where it is. These methods replace those of the same
// names within this target, and report the place.

extension KeyedDecodingContainer {
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try placed(type, key) { try read(type, key) }
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try placed(type, key) { try read(type, key) }
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try placed(type, key) { try read(type, key) }
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try placed(type, key) { try read(type, key) }
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try placed(type, key) { try readIfPresent(type, key) }
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try placed(type, key) { try readIfPresent(type, key) }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try placed(type, key) { try readIfPresent(type, key) }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try placed(type, key) { try readIfPresent(type, key) }
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try placed(type, key) { try readIfPresent(type, key) }
    }

    private func placed<Value, Result>(
        _ type: Value.Type,
        _ key: Key,
        _ read: () throws -> Result
    ) throws -> Result {
        do {
            return try read()
        } catch let error as FieldError {
            throw error
        } catch let error as DecodingError {
            throw error
        } catch {
            throw FieldError(
                pointer: JSONPointer.rendering(codingPath + [key]),
                .invalidValue,
                "Must be \(FieldError.name(of: type)) that can be represented."
            )
        }
    }
}

/// The original methods, which are still available through the protocol.
extension KeyedDecodingContainerProtocol {
    fileprivate func read(_ type: Int.Type, _ key: Key) throws -> Int {
        try decode(type, forKey: key)
    }

    fileprivate func read(_ type: Int64.Type, _ key: Key) throws -> Int64 {
        try decode(type, forKey: key)
    }

    fileprivate func read(_ type: String.Type, _ key: Key) throws -> String {
        try decode(type, forKey: key)
    }

    fileprivate func readIfPresent(_ type: Int.Type, _ key: Key) throws -> Int? {
        try decodeIfPresent(type, forKey: key)
    }

    fileprivate func readIfPresent(_ type: Int64.Type, _ key: Key) throws -> Int64? {
        try decodeIfPresent(type, forKey: key)
    }

    fileprivate func readIfPresent(_ type: Double.Type, _ key: Key) throws -> Double? {
        try decodeIfPresent(type, forKey: key)
    }

    fileprivate func readIfPresent(_ type: String.Type, _ key: Key) throws -> String? {
        try decodeIfPresent(type, forKey: key)
    }

    fileprivate func read<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value {
        try decode(type, forKey: key)
    }

    fileprivate func readIfPresent<Value: Decodable>(
        _ type: Value.Type,
        _ key: Key
    ) throws -> Value? {
        try decodeIfPresent(type, forKey: key)
    }
}

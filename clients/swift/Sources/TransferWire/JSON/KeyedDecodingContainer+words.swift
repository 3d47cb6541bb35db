extension KeyedDecodingContainer {
    /// Returns the case of `type` that a text names.
    ///
    /// - Throws: ``FieldError`` with all words that are understood, for any other one.
    func decodeWord<Word: RawRepresentable & CaseIterable>(
        _ type: Word.Type,
        forKey key: Key
    ) throws -> Word where Word.RawValue == String {
        let text = try decode(String.self, forKey: key)
        guard !CombiningMarks.areTooMany(in: text), let word = Word(rawValue: text) else {
            let known = Word.allCases.map { "`\($0.rawValue)`" }
            throw FieldError(
                pointer: JSONPointer.rendering(codingPath + [key]),
                .invalidValue,
                "Must be one of \(known.joined(separator: ", "))."
            )
        }
        return word
    }
}

/// A JSON document in its text form; bound as `jsonb`, read from `jsonb` and `json`.
package struct JSONText: Hashable, Sendable {
    /// The text of the document.
    package let text: String

    /// Wraps `text`, which the caller asserts is JSON; else the server refuses it (SQLSTATE 22P02).
    package init(text: String) { self.text = text }
}

extension JSONText: PostgresScalar {
    package static var postgresType: PostgresType { .jsonb }
    package static var postgresArrayType: PostgresType { .jsonbArray }

    /// The version byte that precedes the text of a `jsonb` in binary format.
    private static let version: UInt8 = 1

    package func encode(into bytes: inout [UInt8]) throws(PostgresError) {
        bytes.append(Self.version)
        try text.encode(into: &bytes)
    }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> JSONText {
        switch type {
        case .json: return JSONText(text: try String(validating: bytes))
        case .jsonb:
            guard bytes.byteCount > 0, try UInt8(bigEndian: bytes.extracting(first: 1)) == version
            else {
                throw PostgresError(.decoding, "a jsonb of an unknown version")
            }
            return JSONText(text: try String(validating: bytes.extracting(droppingFirst: 1)))
        default: throw .mismatch(JSONText.self, type, bytes.byteCount)
        }
    }
}

package import Postgres
package import TransferModel

/// A client string as a `bytea`, because PostgreSQL's `text` holds no NUL.
extension ClientString: PostgresScalar {
    package static var postgresType: PostgresType { [UInt8].postgresType }
    package static var postgresArrayType: PostgresType { [UInt8].postgresArrayType }

    package func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> ClientString {
        guard type == postgresType else { throw .mismatch(Self.self, type, bytes.byteCount) }
        return ClientString(stored: try String(validating: bytes))
    }
}

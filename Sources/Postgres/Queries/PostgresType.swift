/// The type of a value on the wire, by its OID in `pg_type`.
///
/// The numbers of built-in types are fixed; those of user-defined types start at 16384.
package struct PostgresType: RawRepresentable, Hashable, Sendable {
    /// The OID of the type.
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Whether the type was made in this database: an enum, a composite or an extension's type.
    var isUserDefined: Bool { rawValue >= 16384 }
}

extension PostgresType {
    package static let bool = PostgresType(rawValue: 16)
    package static let bytea = PostgresType(rawValue: 17)
    package static let name = PostgresType(rawValue: 19)
    package static let int8 = PostgresType(rawValue: 20)
    package static let int2 = PostgresType(rawValue: 21)
    package static let int4 = PostgresType(rawValue: 23)
    package static let text = PostgresType(rawValue: 25)
    package static let json = PostgresType(rawValue: 114)
    package static let float4 = PostgresType(rawValue: 700)
    package static let float8 = PostgresType(rawValue: 701)
    package static let unknown = PostgresType(rawValue: 705)
    package static let bpchar = PostgresType(rawValue: 1042)
    package static let varchar = PostgresType(rawValue: 1043)
    package static let timestamptz = PostgresType(rawValue: 1184)
    package static let uuid = PostgresType(rawValue: 2950)
    package static let jsonb = PostgresType(rawValue: 3802)

    package static let boolArray = PostgresType(rawValue: 1000)
    package static let byteaArray = PostgresType(rawValue: 1001)
    package static let int2Array = PostgresType(rawValue: 1005)
    package static let int4Array = PostgresType(rawValue: 1007)
    package static let textArray = PostgresType(rawValue: 1009)
    package static let int8Array = PostgresType(rawValue: 1016)
    package static let float8Array = PostgresType(rawValue: 1022)
    package static let timestamptzArray = PostgresType(rawValue: 1185)
    package static let uuidArray = PostgresType(rawValue: 2951)
    package static let jsonbArray = PostgresType(rawValue: 3807)
}

/// A statement and the values of its parameters; the only way to write SQL.
///
/// `"SELECT name FROM client WHERE id = \(id)"` becomes `… WHERE id = $1` with a binary bind, so a
/// value can never be read as SQL. Parameters have the type of the Swift value: for an enum column
/// write `\(state.rawValue)::task_state`.
package struct Query: Sendable {
    let text: QueryText
    /// The values, in the order of the placeholders.
    package let binds: [Bind]

    /// The text with `$1`, `$2` … in place of the values.
    package var sql: String { text.sql }

    /// The number of bytes of values from which a statement is long.
    ///
    /// A submission of one task has some hundred, one of a thousand some hundred thousand.
    static let longBytes = 4096
    /// The maximum number of parameters, which the protocol counts in 16 bits.
    static let bindCountMax = 65_535

    /// Whether its values are so many that it takes the server long.
    var isLong: Bool { binds.reduce(0) { $0 + ($1.bytes?.count ?? 0) } >= Self.longBytes }
}

extension Query: ExpressibleByStringInterpolation {
    /// Collects the text and the values of a query literal.
    package struct StringInterpolation: StringInterpolationProtocol {
        var text = QueryText()
        var binds: [Bind] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            text.reserve(byteCount: literalCapacity, placeCount: interpolationCount)
            binds.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) { text.append(literal) }

        /// Binds a value.
        package mutating func appendInterpolation(_ value: some PostgresEncodable) {
            bind(Bind(value))
        }

        /// Inserts the quoted name of a table, partition, channel or column.
        package mutating func appendInterpolation(identifier name: String) {
            text.append(Query.quoted(identifier: name))
        }

        mutating func bind(_ bind: Bind) {
            binds.append(bind)
            text.appendPlace()
        }
    }

    package init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        binds = stringInterpolation.binds
    }

    package init(stringLiteral: String) {
        text = QueryText(stringLiteral)
        binds = []
    }

    /// Returns a name quoted for SQL, whatever characters it holds.
    package static func quoted(identifier name: String) -> String {
        var text = "\""
        for character in name.unicodeScalars where character != "\0" {
            text.unicodeScalars.append(character)
            if character == "\"" { text.unicodeScalars.append(character) }
        }
        return text + "\""
    }
}

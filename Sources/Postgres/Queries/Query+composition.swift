extension Query.StringInterpolation {
    /// Inserts another query, with its values, as a part of this one.
    package mutating func appendInterpolation(_ part: Query) {
        guard !part.binds.isEmpty else {
            sql += part.sql
            return
        }
        sql += Self.renumbered(part.sql, by: binds.count)
        binds += part.binds
    }

    /// Binds a value or NULL.
    package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
        binds.append(Bind(value))
        sql += "$\(binds.count)"
    }

    /// Returns `sql` with each placeholder `$n` replaced by `$(n + offset)`.
    ///
    /// Dollar quoting does not occur in queries, so every `$` followed by digits is a placeholder.
    private static func renumbered(_ sql: String, by offset: Int) -> String {
        var result: [UInt8] = []
        var rest = Array(sql.utf8)[...]
        while let byte = rest.popFirst() {
            result.append(byte)
            guard byte == UInt8(ascii: "$") else { continue }
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard let number = Int(String(decoding: digits, as: UTF8.self)) else { continue }
            rest = rest.dropFirst(digits.count)
            result += String(number + offset).utf8
        }
        return String(decoding: result, as: UTF8.self)
    }
}

extension PostgresError {
    /// Creates the error for a row that does not hold what the code above this layer expects.
    package init(decoding summary: String) { self.init(.decoding, summary) }

    /// Creates the error for a value above this layer that has no storable form.
    package init(encoding summary: String) { self.init(.encoding, summary) }

    /// Creates the error for a query not handed to the pool, for a reason the pool has as well.
    package init(unsent code: Code, _ summary: String) { self.init(code, summary) }
}

extension Query.StringInterpolation {
    /// Inserts another query, with its values, as a part of this one.
    package mutating func appendInterpolation(_ part: Query) {
        if part.binds.isEmpty || binds.isEmpty {
            sql += part.sql
        } else {
            append(part.sql, renumberedBy: binds.count)
        }
        binds += part.binds
    }

    /// Binds a value or NULL.
    package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
        binds.append(Bind(value))
        sql += "$\(binds.count)"
    }

    /// Appends `part` with each placeholder `$n` replaced by `$(n + offset)`.
    ///
    /// Dollar quoting does not occur in queries, so every `$` followed by digits is a placeholder.
    private mutating func append(_ part: String, renumberedBy offset: Int) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        var pieces = part.utf8.split(
            separator: UInt8(ascii: "$"),
            omittingEmptySubsequences: false
        )[...]
        sql += Substring(pieces.removeFirst())
        for piece in pieces {
            let end = piece.firstIndex { !digits.contains($0) } ?? piece.endIndex
            guard let number = Int(Substring(piece[..<end])) else {
                sql += "$\(Substring(piece))"
                continue
            }
            sql += "$\(number + offset)"
            sql += Substring(piece[end...])
        }
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

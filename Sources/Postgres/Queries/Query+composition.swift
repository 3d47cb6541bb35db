extension Query.StringInterpolation {
    /// Inserts another query, with its values, as a part of this one.
    package mutating func appendInterpolation(_ part: Query) {
        text.append(part.text)
        binds += part.binds
    }

    /// Binds a value or NULL.
    package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
        bind(Bind(value))
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

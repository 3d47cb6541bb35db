/// The value of one parameter in binary form.
package struct Bind: Sendable {
    /// The declared type.
    package let type: PostgresType
    /// The bytes, nil for NULL.
    package let bytes: [UInt8]?
    /// The reason why the value cannot be sent, if any.
    ///
    /// It is thrown when the query is executed, because a literal cannot throw.
    let failure: PostgresError?

    init<Value: PostgresEncodable>(_ value: Value) {
        type = Value.postgresType
        guard !value.isPostgresNull else {
            bytes = nil
            failure = nil
            return
        }
        var encoded: [UInt8] = []
        do throws(PostgresError) {
            try value.encode(into: &encoded)
            bytes = encoded
            failure = nil
        } catch {
            bytes = nil
            failure = error
        }
    }
}

extension Query {
    /// The server ends a connection whose message is longer than 1 GiB; we refuse before that.
    static let byteCountMax = (1 << 30) - (1 << 20)

    /// Throws the failure that keeps the query from being sent, if any.
    ///
    /// - Returns: the approximate number of bytes it is sent with.
    @discardableResult
    func validate() throws(PostgresError) -> Int {
        guard binds.count <= Self.bindCountMax else {
            throw PostgresError(.encoding, "\(binds.count) parameters; 65535 are possible")
        }
        var byteCount = text.bytes.count
        for bind in binds {
            if let failure = bind.failure { throw failure }
            byteCount += bind.bytes?.count ?? 0
        }
        guard byteCount <= Self.byteCountMax else {
            throw PostgresError(.encoding, "the query has \(byteCount) bytes; too many to send")
        }
        return byteCount
    }
}

package import Testing

/// A trait that gives every test a separate PostgreSQL schema, as ``TestDatabase/current``.
package struct PostgresSchemaTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }
    /// Whether the schema is in a database of its own.
    let isAlone: Bool

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestDatabase.withSchema(isAlone: isAlone, function)
    }
}

extension Trait where Self == PostgresSchemaTrait {
    /// Gives every test a separate PostgreSQL schema, as ``TestDatabase/current``.
    package static var postgresSchema: PostgresSchemaTrait { PostgresSchemaTrait(isAlone: false) }

    /// Gives every test a schema in a separate database.
    ///
    /// There, transactions of other tests do not keep deleted rows, and with them pages to be read.
    package static var postgresDatabase: PostgresSchemaTrait { PostgresSchemaTrait(isAlone: true) }
}

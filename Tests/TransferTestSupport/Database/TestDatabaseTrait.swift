package import Testing

/// Gives every test a PostgreSQL schema of its own, as ``TestDatabase/current``.
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
    /// Gives every test a PostgreSQL schema of its own, as ``TestDatabase/current``.
    package static var postgresSchema: PostgresSchemaTrait { PostgresSchemaTrait(isAlone: false) }

    /// The same in a database of its own, where the transactions of no other test keep rows that
    /// are gone, and with them pages to be read.
    package static var postgresDatabase: PostgresSchemaTrait { PostgresSchemaTrait(isAlone: true) }
}

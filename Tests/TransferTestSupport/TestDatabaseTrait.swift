package import Testing

/// Gives every test a PostgreSQL schema of its own, as ``TestDatabase/current``.
package struct PostgresSchemaTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestDatabase.withSchema(function)
    }
}

extension Trait where Self == PostgresSchemaTrait {
    /// Gives every test a PostgreSQL schema of its own, as ``TestDatabase/current``.
    package static var postgresSchema: PostgresSchemaTrait { PostgresSchemaTrait() }
}

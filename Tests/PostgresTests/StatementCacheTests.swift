@testable import Postgres
import Testing
import TransferTestSupport

@Suite struct StatementCacheTests {
    private func key(_ sql: String, _ types: [PostgresType] = []) -> StatementCache.Key {
        StatementCache.Key(sql: sql, types: types)
    }

    @Test func preparesOnceAndUsesTheNameAfterwards() {
        var cache = StatementCache(countMax: 2)
        #expect(cache.use(key("a"), inSegment: 1) == .prepare("s1"))
        #expect(cache.use(key("a"), inSegment: 1) == .named("s1"))
        cache.prepared(key("a"))
        #expect(cache.use(key("a"), inSegment: 2) == .named("s1"))
    }

    @Test func unconfirmedNameIsNotUsedByOtherSegments() {
        var cache = StatementCache(countMax: 2)
        _ = cache.use(key("a"), inSegment: 1)
        #expect(cache.use(key("a"), inSegment: 2) == .unnamed)
    }

    @Test func differentTypesAreDifferentStatements() {
        var cache = StatementCache(countMax: 2)
        _ = cache.use(key("a", [.int4]), inSegment: 1)
        #expect(cache.use(key("a", [.int8]), inSegment: 1) == .prepare("s2"))
    }

    @Test func forgottenStatementGetsAnotherName() {
        var cache = StatementCache(countMax: 1)
        _ = cache.use(key("a"), inSegment: 1)
        cache.forget(key("a"))
        #expect(cache.use(key("a"), inSegment: 2) == .prepare("s2"))
    }

    @Test func statementsBeyondTheBoundStayUnnamed() {
        var cache = StatementCache(countMax: 1)
        _ = cache.use(key("a"), inSegment: 1)
        #expect(cache.use(key("b"), inSegment: 1) == .unnamed)
        var none = StatementCache(countMax: 0)
        #expect(none.use(key("a"), inSegment: 1) == .unnamed)
    }
}

@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct PreparedStatementTests {
    private func preparedCount(_ connection: Connection) async throws -> Int {
        // Asked by a script-free query that is itself prepared, hence the exclusion.
        try await connection.execute(
            """
            SELECT count(*) AS count FROM pg_prepared_statements
            WHERE statement LIKE '%subject%' AND statement NOT LIKE '%pg_prepared_statements%'
            """
        )[0].decode("count")
    }

    @Test func repeatedStatementIsPreparedOnce() async throws {
        let connection = try await TestDatabase.current.connection()
        for number in 0..<10 {
            _ = try await connection.execute("SELECT \(number) AS subject")
        }
        #expect(try await preparedCount(connection) == 1)
    }

    @Test func boundHoldsOnTheServer() async throws {
        let connection = try await TestDatabase.current.connection {
            $0.preparedStatementsMax = 5
        }
        for number in 0..<10 {
            let name = "subject\(number)"
            let rows = try await connection.execute("SELECT \(number) AS \(identifier: name)")
            #expect(try rows[0].decode(name, as: Int.self) == number)
        }
        #expect(try await preparedCount(connection) <= 4)
    }

    @Test func statementAbortedBeforeItsPreparationIsPreparedLater() async throws {
        let connection = try await TestDatabase.current.connection()
        await #expect(throws: PostgresError.self) {
            try await connection.execute([
                "SELECT 1 / \(0) AS wrong", "SELECT \("x") AS subject",
            ])
        }
        #expect(try await preparedCount(connection) == 0)
        for _ in 0..<2 {
            let rows = try await connection.execute("SELECT \("x") AS subject")
            #expect(try rows[0].decode("subject") == "x")
        }
        #expect(try await preparedCount(connection) == 1)
    }

    @Test func statementThatCannotBePreparedFailsEachTime() async throws {
        let connection = try await TestDatabase.current.connection()
        for _ in 0..<3 {
            let failure = await #expect(throws: PostgresError.self) {
                try await connection.execute("SELECT missing FROM nowhere")
            }
            #expect(failure?.sqlState == "42P01")
        }
    }

    @Test func stalePlanIsForgotten() async throws {
        let connection = try await TestDatabase.current.connection()
        let other = try await TestDatabase.current.connection()
        try await connection.executeScript(
            "CREATE TABLE item (id int4); INSERT INTO item VALUES (1)"
        )
        let query: Query = "SELECT id FROM item"
        #expect(try await connection.execute(query)[0].decode("id", as: Int32.self) == 1)
        try await other.executeScript("ALTER TABLE item ALTER id TYPE int8")
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute(query)
        }
        #expect(failure?.sqlState == "0A000")
        #expect(try await connection.execute(query)[0].decode("id", as: Int64.self) == 1)
    }

    @Test func deallocatedStatementIsForgotten() async throws {
        let connection = try await TestDatabase.current.connection()
        let query: Query = "SELECT \(1) AS one"
        _ = try await connection.execute(query)
        try await connection.executeScript("DEALLOCATE ALL")
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute(query)
        }
        #expect(failure?.sqlState == "26000")
        #expect(try await connection.execute(query).count == 1)
    }
}

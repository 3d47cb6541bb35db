@testable import Postgres
import Testing
import TransferTestSupport

@Suite struct StatementCacheTests {
    private func key(_ sql: String, _ types: [PostgresType] = []) -> StatementCache.Key {
        StatementCache.Key(text: QueryText(sql), types: types)
    }

    @Test func preparesOnceAndUsesTheNameAfterwards() {
        var cache = StatementCache(countMax: 2)
        #expect(cache.use(key("a"), inSegment: 1) == .prepare("s1"))
        #expect(cache.use(key("a"), inSegment: 1) == .named("s1"))
        cache.prepared(key("a"), as: "s1")
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

    /// Most pairs have one hash, and are told apart by what that does not read.
    @Test(
        arguments: [
            ("SELECT a\(1)b", "SELECT ab\(1)"),
            ("SELECT \(1)a\(2)", "SELECT a\(1)\(2)"),
            ("SELECT a\(1)", "SELECT b\(1)"),
        ] as [(Query, Query)]
    )
    func anotherByteOrPlaceMakesAnotherStatement(first: Query, second: Query) {
        var cache = StatementCache(countMax: 2)
        let types = first.binds.map(\.type)
        let keys = [first, second].map { StatementCache.Key(text: $0.text, types: types) }
        #expect(cache.use(keys[0], inSegment: 1) == .prepare("s1"))
        #expect(cache.use(keys[1], inSegment: 1) == .prepare("s2"))
        #expect(cache.use(keys[0], inSegment: 1) == .named("s1"))
    }

    @Test func forgottenStatementGetsAnotherName() {
        var cache = StatementCache(countMax: 1)
        _ = cache.use(key("a"), inSegment: 1)
        cache.forget(key("a"), as: "s1")
        #expect(cache.use(key("a"), inSegment: 2) == .prepare("s2"))
    }

    @Test func aStaleStatementTakesAllOthersWithIt() {
        var cache = StatementCache(countMax: 2)
        for name in ["a", "b"] { _ = cache.use(key(name), inSegment: 1) }
        cache.prepared(key("a"), as: "s1")
        cache.prepared(key("b"), as: "s2")
        cache.forgetAll(ifUsing: "s1", for: key("a"))
        var isLeft = [cache.takeLeftovers(), cache.takeLeftovers()]
        #expect(isLeft == [true, false])
        #expect(cache.use(key("a"), inSegment: 2) == .prepare("s3"))
        #expect(cache.use(key("b"), inSegment: 2) == .prepare("s4"))
        // Statements that were under way then say nothing about the new ones.
        cache.forgetAll(ifUsing: "s2", for: key("b"))
        cache.prepared(key("b"), as: "s2")
        cache.forget(key("b"), as: "s2")
        isLeft = [cache.takeLeftovers()]
        #expect(isLeft == [false])
        #expect(cache.use(key("b"), inSegment: 3) == .unnamed)
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
        // The query that asks is itself prepared, hence the exclusion.
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

    /// Alters, on a second connection, tables for which the first has prepared statements.
    private func altered(
        _ query: Query,
        _ alteration: String
    ) async throws -> (connection: Connection, other: Connection) {
        let connection = try await TestDatabase.current.connection()
        let other = try await TestDatabase.current.connection()
        try await connection.executeScript(
            """
            CREATE TABLE item (id int4);
            INSERT INTO item VALUES (1);
            CREATE TABLE note (id int4)
            """
        )
        #expect(try await connection.execute(query).count == 1)
        try await other.executeScript(alteration)
        return (connection, other)
    }

    private static let items: Query = "SELECT id FROM item"
    private static let widens = "ALTER TABLE item ALTER id TYPE int8"

    @Test func stalePlanIsNoFailure() async throws {
        let (connection, _) = try await altered(Self.items, Self.widens)
        let rows = try await connection.execute(Self.items)
        #expect(try rows[0].decode("id", as: Int64.self) == 1)
    }

    @Test func transactionWithAStalePlanHappensOnce() async throws {
        let (connection, other) = try await altered(Self.items, "SELECT 1")
        let noted: Query = "INSERT INTO note VALUES (\(Int32(1))) RETURNING id"
        let listed: Query = "SELECT id FROM note"
        _ = try await connection.execute([noted, Self.items, listed])
        try await other.executeScript(
            "\(Self.widens); ALTER TABLE note ALTER id TYPE int8; TRUNCATE note"
        )
        // Three of its statements are stale: only a failure shows the cause of one.
        let results = try await connection.execute([noted, Self.items, listed])
        #expect(results.map(\.count) == [1, 1, 1])
        #expect(try await other.execute(listed).count == 1)
    }

    @Test func stalePlansInAPipelineAreNoFailures() async throws {
        let (connection, other) = try await altered(Self.items, Self.widens)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await connection.execute([
                        "INSERT INTO note VALUES (\(Int32(1)))", Self.items,
                    ])[1].count
                }
            }
            for try await count in group { #expect(count == 1) }
        }
        #expect(try await other.execute("SELECT id FROM note").count == 50)
        // The old statements are not left on the server.
        let held = try await connection.execute(
            "SELECT count(*) AS held FROM pg_prepared_statements"
        )
        #expect(try held[0].decode("held", as: Int.self) <= 4)
    }

    @Test func statementThatIsNotSupportedFailsAfterOneRepetition() async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript(
            """
            CREATE SEQUENCE tries;
            CREATE FUNCTION refuse() RETURNS int LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM nextval('tries');
                RAISE feature_not_supported;
            END $$
            """
        )
        for _ in 0..<2 {
            let failure = await #expect(throws: PostgresError.self) {
                try await connection.execute("SELECT refuse()")
            }
            #expect(failure?.sqlState == "0A000")
        }
        // A statement prepared only now cannot be stale, and is not repeated.
        let tries = try await connection.execute("SELECT last_value FROM tries")
        #expect(try tries[0].decode("last_value", as: Int64.self) == 3)
    }

    @Test func deallocatedStatementIsNoFailure() async throws {
        let connection = try await TestDatabase.current.connection()
        let query: Query = "SELECT \(1) AS one"
        _ = try await connection.execute(query)
        try await connection.executeScript("DEALLOCATE ALL")
        #expect(try await connection.execute(query).count == 1)
    }
}

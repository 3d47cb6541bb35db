import Postgres
import TransferTestSupport

/// A database that does what no worker expects.
extension EngineFixture {
    /// Has the database run PL/pgSQL at each statement of one kind, such as
    /// `AFTER INSERT ON outcome`.
    ///
    /// `nextval('turn')` counts there from 1.
    static func interfere(_ statement: String, _ code: String) async throws {
        let aside = try await TestDatabase.current.connection()
        try await aside.executeScript(
            """
            CREATE SEQUENCE turn;
            CREATE FUNCTION interfere() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                \(code)
                RETURN NULL;
            END $$;
            CREATE TRIGGER interference \(statement)
            FOR EACH STATEMENT EXECUTE FUNCTION interfere();
            """
        )
        await aside.close()
    }

    /// Ends what ``interfere(_:_:)`` began.
    static func interfereNoLonger() async throws {
        let aside = try await TestDatabase.current.connection()
        try await aside.executeScript("DROP FUNCTION interfere CASCADE")
        await aside.close()
    }

    /// Has the database refuse the first `count` statements that store outcomes, or those before
    /// ``interfereNoLonger()``.
    func refuseOutcomes(_ count: Int64 = .max, sqlState: String, _ text: String) async throws {
        try await Self.interfere(
            "AFTER INSERT ON outcome",
            """
            IF nextval('turn') <= \(count) THEN
                RAISE '\(text)' USING ERRCODE = '\(sqlState)';
            END IF;
            """
        )
    }
}

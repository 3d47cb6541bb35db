import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreFixture {
    private static let removalRounds = 400

    /// Removes what is to be removed to the end; each round is that of another process.
    func removeOwners(after round: () async throws -> Void = {}) async throws {
        for _ in 0..<Self.removalRounds {
            if try await Stores(stores.database).removalTurn(worker: worker) { return }
            try await round()
        }
        Issue.record("not removed after \(Self.removalRounds) rounds")
    }

    /// The tables with a column for one of `identifiers`, and how many rows of them.
    func rows(of identifiers: [String: [UUID]]) async throws -> [String: Int64] {
        let columns = try await aside.execute(
            """
            SELECT c.table_name::text AS name, c.column_name::text AS column
            FROM information_schema.columns c
            JOIN information_schema.tables t USING (table_schema, table_name)
            WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
                AND c.column_name = ANY (\(Array(identifiers.keys)))
                -- Entries of the log stay, and partitions are counted with their parents.
                AND c.table_name <> 'audit_entry' AND c.table_name NOT LIKE '%\\_default'
                AND c.table_name !~ '_[0-9]{8}$'
            """
        )
        var found: [String: Int64] = [:]
        for row in columns {
            let name: String = try row.decode("name")
            let column: String = try row.decode("column")
            let count = try await count(
                """
                SELECT count(*) AS count FROM \(identifier: name)
                WHERE \(identifier: column) = ANY (\(identifiers[column] ?? []))
                """
            )
            if count > 0 { found["\(name).\(column)"] = count }
        }
        return found
    }
}

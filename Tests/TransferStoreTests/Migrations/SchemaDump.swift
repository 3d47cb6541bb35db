import Foundation
import Postgres
import TransferTestSupport

/// The test's schema as PostgreSQL describes it, in an order and form that do not vary.
enum SchemaDump {
    /// The result of this checkout's migrations, for review.
    static let committed = URL(filePath: "\(Checkout.root)/Tests/schema.sql")

    /// Returns a description of everything but the migrator's own table.
    static func take() async throws -> String {
        let connection = try await TestDatabase.current.connection()
        var lines: [String] = []
        for query in [enumerations, tables, partitions, indexes, views] {
            for row in try await connection.execute(query) {
                lines.append(try row.decode("line"))
            }
        }
        await connection.close()
        let prefix = Query.quoted(identifier: TestDatabase.current.schema) + "."
        return lines.map { $0.replacingOccurrences(of: prefix, with: "") + "\n" }.joined()
    }

    private static let enumerations: Query = """
        SELECT 'CREATE TYPE ' || t.typname || ' AS ENUM (' || string_agg(
            quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) || ');' AS line
        FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
        WHERE t.typnamespace = quote_ident(current_schema())::regnamespace
        GROUP BY t.typname ORDER BY t.typname
        """

    private static let tables: Query = """
        SELECT E'\\nCREATE TABLE ' || c.relname || E' (\\n    ' || string_agg(p.part, E',\\n    '
            ORDER BY p.place, p.part) || E'\\n)' || CASE c.relkind
            WHEN 'p' THEN ' PARTITION BY ' || pg_get_partkeydef(c.oid) ELSE '' END || coalesce(
            ' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') || ';' AS line
        FROM pg_class c CROSS JOIN LATERAL (
            SELECT a.attnum::int AS place, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
                || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
                || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
                || CASE a.attidentity WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
                AS part
            FROM pg_attribute a
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            UNION ALL
            SELECT 10000, 'CONSTRAINT ' || n.conname || ' ' || pg_get_constraintdef(n.oid)
            FROM pg_constraint n WHERE n.conrelid = c.oid
        ) p
        WHERE c.relnamespace = quote_ident(current_schema())::regnamespace
            AND c.relkind IN ('r', 'p')
            AND c.relname <> 'schema_migration' AND NOT c.relispartition
        GROUP BY c.oid, c.relname, c.reloptions, c.relkind ORDER BY c.relname
        """

    private static let views: Query = """
        SELECT E'\\nCREATE VIEW ' || c.relname || E' AS\\n' || pg_get_viewdef(c.oid) AS line
        FROM pg_class c
        WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind = 'v'
        ORDER BY c.relname
        """

    private static let partitions: Query = """
        SELECT E'\\nCREATE TABLE ' || c.relname || ' PARTITION OF ' || p.relname || ' '
            || pg_get_expr(c.relpartbound, c.oid) || coalesce(
            ' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') || ';' AS line
        FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
        JOIN pg_class p ON p.oid = i.inhparent
        WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind = 'r'
        ORDER BY c.relname
        """

    private static let indexes: Query = """
        SELECT CASE row_number() OVER (ORDER BY i.relname) WHEN 1 THEN E'\\n' ELSE '' END
            || pg_get_indexdef(x.indexrelid) || ';' AS line
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        WHERE i.relnamespace = quote_ident(current_schema())::regnamespace
            AND NOT EXISTS (SELECT 1 FROM pg_constraint n WHERE n.conindid = x.indexrelid)
        ORDER BY i.relname
        """
}

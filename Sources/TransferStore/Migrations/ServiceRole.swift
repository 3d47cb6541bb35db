package import Postgres

/// A role of PostgreSQL that may read and change the rows of the schema and define nothing, for the
/// instances that serve.
package struct ServiceRole: Sendable {
    /// The name of the role in a private cluster.
    package static let nameInPrivateCluster = "transferd_service"

    private let name: String

    package init(name: String) { self.name = name }
}

extension ServiceRole {
    /// Makes the role unless it exists, for a cluster in which nobody else makes roles;
    /// `connection` is a superuser's.
    package func create(_ connection: Connection) async throws(PostgresError) {
        let rows = try await connection.execute(
            "SELECT to_regrole(quote_ident(\(name))) IS NULL AS is_missing"
        )
        guard try rows.first?.decode("is_missing", as: Bool.self) == true else { return }
        do throws(PostgresError) {
            _ = try await connection.execute([
                "CREATE ROLE \(identifier: name) LOGIN NOINHERIT",
                // Clients can cause errors of its statements at will, such as by repeated requests,
                // and the server's log has no bound while it runs. The service tells of them.
                "ALTER ROLE \(identifier: name) SET log_min_messages = 'log'",
            ])
        } catch  where error.sqlState == "42710" {
            // Another process has made it meanwhile.
        }
        // Before PostgreSQL 15, everybody could create tables in this schema.
        _ = try await connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    }

    /// Lets the role do what the service does; of the audit log it may alter nothing.
    ///
    /// The `connection` is that of the owner of the schema's tables.
    package func grant(_ connection: Connection) async throws(PostgresError) {
        _ = try await connection.execute("SELECT grant_to_service(quote_ident(\(name))::regrole)")
    }

    /// Whether ``grant(_:)`` was carried out for the role.
    package func isGranted(_ connection: Connection) async throws(PostgresError) -> Bool {
        let rows = try await connection.execute(
            """
            SELECT coalesce(has_function_privilege(
                to_regrole(quote_ident(\(name)))::oid, to_regprocedure(
                    quote_ident(current_schema()) || '.make_log_partition(text, date)'),
                'EXECUTE'), false) AS is_granted
            """
        )
        return try rows.first?.decode("is_granted") ?? false
    }

    /// The statement that repeats ``grant(_:)`` for all roles that it was carried out for, after
    /// tables were added, and takes from all others what a restore without privileges gives them.
    ///
    /// Before the first of them, the schema may lack the function; another schema's is another
    /// installation's.
    static let grantAgain = """
        DO $grant$
        DECLARE
            maker CONSTANT regprocedure := to_regprocedure(
                quote_ident(current_schema()) || '.make_log_partition(text, date)');
            server_role regrole;
        BEGIN
            IF maker IS NULL THEN RETURN; END IF;
            REVOKE ALL ON FUNCTION make_log_partition(text, date), drop_log_partition(text, date),
                grant_to_service(regrole) FROM PUBLIC;
            FOR server_role IN
                SELECT r.oid::regrole
                FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a
                JOIN pg_roles r ON r.oid = a.grantee
                WHERE p.oid = maker AND a.grantee <> p.proowner
            LOOP
                PERFORM grant_to_service(server_role);
            END LOOP;
        END
        $grant$
        """
}

extension ServiceRole {
    /// What the role of a connection may do to the schema.
    package enum Rights: Sendable, Equatable {
        /// It changes rows and nothing else.
        case rows
        /// It may define or remove tables; with the name of the role and the reason.
        case definitions(role: String, reason: String)
    }

    /// Returns whether every role of the server may make or drop partitions of the logs.
    ///
    /// That is so after a restore without privileges, until the schema's owner migrates.
    package static func isEverybodys(_ connection: Connection) async throws(PostgresError) -> Bool {
        let rows = try await connection.execute(
            """
            SELECT EXISTS (
                SELECT 1 FROM pg_proc p CROSS JOIN LATERAL aclexplode(
                    coalesce(p.proacl, acldefault('f', p.proowner))) a
                WHERE p.pronamespace = quote_ident(current_schema())::regnamespace
                    AND p.proname IN ('make_log_partition', 'drop_log_partition')
                    -- PUBLIC has no row of its own.
                    AND a.grantee = 0) AS is_everybodys
            """
        )
        return try rows.first?.decode("is_everybodys") ?? false
    }

    /// Returns what the role of a connection may do to the schema.
    package static func rights(_ connection: Connection) async throws(PostgresError) -> Rights {
        let rows = try await connection.execute(
            """
            SELECT current_user::text AS name, CASE
                WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
                    THEN 'is a superuser'
                WHEN EXISTS (
                    SELECT 1 FROM pg_class c
                    WHERE c.relnamespace = quote_ident(current_schema())::regnamespace
                        AND c.relkind IN ('r', 'p') AND pg_has_role(c.relowner, 'MEMBER'))
                    THEN 'owns tables of the schema'
                WHEN has_schema_privilege(current_schema(), 'CREATE')
                    THEN 'may create tables in the schema'
                WHEN has_database_privilege(current_database(), 'CREATE')
                    THEN 'may create schemas in the database'
                END AS reason
            """
        )
        guard let row = rows.first,
            let reason = try row.decodeIfPresent("reason", as: String.self)
        else { return .rows }
        return .definitions(role: try row.decode("name"), reason: reason)
    }
}

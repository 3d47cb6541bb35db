package import Foundation
import Postgres
package import TransferModel

/// The assertions of clients: their begin, their end and what was leaked.
package struct AssertionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension AssertionStore {
    /// The number of rows that one call of ``pruneAssertions(endedBefore:notAfter:)`` removes.
    package static let pruneMax = 1000

    /// Begins an assertion of a running client, unless it has begun already under that identifier
    /// and name.
    package func beginAssertion(
        _ id: AssertionID,
        named name: String,
        by client: ClientID,
        of tenant: TenantID
    ) async throws(StoreError) -> BeginAssertionResult {
        let isOwner = ClientStore.isNamed(client, tenant)
        let room = Database.hasRoom(
            in: "SELECT 1 FROM assertion x WHERE x.client_id = c.id AND x.ended_at IS NULL",
            maximum: Quota.assertionsMax
        )
        let rows = try await database.run(
            [
                ClientStore.lock(client, of: tenant),
                """
                INSERT INTO assertion (id, client_id, name)
                SELECT \(id.uuid), c.id, \(name) FROM client c
                WHERE \(isOwner) AND \(Self.mayBegin) AND \(room)
                ON CONFLICT (id) DO NOTHING
                """,
            ] + ClientStore.setTimers(of: isOwner)
                + [
                    """
                    SELECT \(Self.mayBegin) AS may_begin FROM client c WHERE \(isOwner)
                    """,
                    Self.select(where: "a.id = \(id.uuid) AND a.name = \(name) AND \(isOwner)"),
                ]
        )
        guard let state = rows[rows.count - 2].first else { return .unknownClient }
        if let row = rows[rows.count - 1].first {
            let assertion = try Assertion(row)
            return rows[1].affectedCount == 1 ? .begun(assertion) : .found(assertion)
        }
        guard try state.decode("may_begin") else { return .clientNotRunning }
        let others = try await database.run("SELECT 1 FROM assertion WHERE id = \(id.uuid)")
        guard others.isEmpty else { return .identifierTaken }
        throw .quotaExceeded(Quota(.assertions, maximum: Quota.assertionsMax))
    }

    /// Whether a client `c` may begin an assertion: it is running, and has time left for one.
    private static let mayBegin: Query = """
        (c.lifecycle = 'active'
            OR c.lifecycle = 'background' AND c.assertions_end_at > clock_timestamp())
        """

    /// Ends an assertion, if it is still held.
    ///
    /// - Returns: false when the tenant has no such assertion, or has it no longer.
    package func endAssertion(_ id: AssertionID, of tenant: TenantID) async throws(StoreError)
        -> Bool
    {
        let isOwner: Query = """
            c.tenant_id = \(tenant.uuid)
            AND c.id = (SELECT a.client_id FROM assertion a WHERE a.id = \(id.uuid))
            """
        let rows = try await database.run(
            [
                "SELECT c.id FROM client c WHERE \(isOwner) FOR NO KEY UPDATE",
                """
                UPDATE assertion SET ended_at = clock_timestamp()
                WHERE id = \(id.uuid) AND num_nulls(ended_at) = 1
                    AND client_id = (SELECT c.id FROM client c WHERE \(isOwner))
                """,
            ] + ClientStore.setTimers(of: isOwner)
        )
        return rows[0].count == 1
    }

    /// Returns an assertion.
    package func assertion(
        _ id: AssertionID,
        of tenant: TenantID
    ) async throws(StoreError) -> Assertion? {
        let rows = try await database.run(
            Self.select(where: "a.id = \(id.uuid) AND c.tenant_id = \(tenant.uuid)")
        )
        guard let row = rows.first else { return nil }
        return try Assertion(row)
    }

    /// Returns all assertions that a client holds, in the order of their identifiers.
    package func heldAssertions(
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> [Assertion] {
        try await database.fetch(
            Assertion.self,
            """
            \(Self.select(where: ClientStore.isNamed(client, tenant))) AND a.ended_at IS NULL
            ORDER BY a.id LIMIT \(Quota.assertionsMax)
            """
        )
    }

    /// Returns what a client has leaked, by name in byte order.
    package func assertionLeaks(
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> [AssertionLeak] {
        try await database.fetch(
            AssertionLeak.self,
            """
            SELECT l.name, l.count, l.leaked_at FROM (
                SELECT x.name, x.count, x.leaked_at FROM assertion_leak x
                WHERE x.client_id = (
                    SELECT c.id FROM client c WHERE \(ClientStore.isNamed(client, tenant)))
                ORDER BY x.leaked_at DESC, x.name LIMIT \(AssertionLeak.namesMax)
            ) l ORDER BY l.name
            """
        )
    }

    /// Removes assertions that ended before `retention`, at most ``pruneMax`` of them; none ended
    /// longer ago than at `latest`, however far ahead the database's clock is.
    ///
    /// - Returns: the number of those removed.
    package func pruneAssertions(
        endedBefore retention: Duration,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int {
        try await database.run(
            """
            DELETE FROM assertion WHERE id = ANY (ARRAY(
                SELECT a.id FROM assertion a
                WHERE a.ended_at < least(now(), \(latest))
                    - \(retention.milliseconds) * interval '1 ms'
                ORDER BY a.ended_at LIMIT \(Self.pruneMax) FOR UPDATE SKIP LOCKED))
            """
        ).affectedCount
    }

    private static func select(where condition: Query) -> Query {
        """
        SELECT a.id, c.identifier AS client, a.name, a.began_at, a.ended_at,
            CASE WHEN a.ended_at IS NULL THEN 'held' WHEN a.is_leaked THEN 'expired'
                ELSE 'ended' END AS state,
            CASE WHEN a.ended_at IS NULL THEN c.assertions_end_at
                WHEN a.is_leaked THEN a.ended_at END AS expires_at,
            CASE WHEN a.is_leaked THEN 0
                WHEN a.ended_at IS NULL AND c.assertions_end_at IS NOT NULL
                    THEN greatest(0, floor(extract(
                        epoch FROM c.assertions_end_at - clock_timestamp()) * 1000))
                END::bigint AS remaining_ms
        FROM assertion a JOIN client c ON c.id = ANY (ARRAY[a.client_id])
        WHERE \(condition)
        """
    }

    /// The details of an event about an assertion, from columns `id`, `name` and
    /// `assertions_end_at`.
    static let details: Query = """
        jsonb_build_object('id', id, 'name', name, 'expires_at_us',
            (extract(epoch FROM assertions_end_at) * 1000000)::bigint)
        """
}

extension Assertion: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            id: AssertionID(try row.decode("id")),
            client: try row.client("client"),
            name: try row.decode("name"),
            state: try row.word("state"),
            beganAt: try row.decode("began_at"),
            endedAt: try row.decodeIfPresent("ended_at"),
            expiresAt: try row.decodeIfPresent("expires_at"),
            remaining: try row.decodeIfPresent("remaining_ms", as: Int64.self)
                .map { .milliseconds($0) }
        )
    }
}

extension AssertionLeak: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            name: try row.decode("name"),
            count: try row.decode("count"),
            leakedAt: try row.decode("leaked_at")
        )
    }
}

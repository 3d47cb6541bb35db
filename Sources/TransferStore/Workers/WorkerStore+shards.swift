import Postgres
package import TransferModel

extension WorkerStore {
    /// Takes free shards for a worker, up to its share; shards of removed workers are free.
    ///
    /// Calls take shards one after the other, so that each sees the current owners: no two workers
    /// ever have the same shard. What is answered meanwhile fits into the buffers of a socket, so
    /// that a worker that was stopped keeps no other from its shards.
    ///
    /// - Parameters:
    ///   - incarnation: the worker.
    ///   - known: its shards so far, whose hosts' connections it knows itself.
    /// - Returns: the shards, and what is stored of their hosts.
    /// - Throws: a ``StoreError``.
    package func leaseShards(
        incarnation: Int32,
        knowing known: Set<Shard> = []
    ) async throws(StoreError) -> ShardLease {
        // The commit is flushed, which is rare: after a crash no worker may find itself the owner
        // of a shard it had given away.
        let rows = try await database.run([
            database.briefLocks,
            """
            SELECT pg_advisory_xact_lock(
                \(AdvisoryLock.shards.rawValue), hashtext(current_schema()))
            """,
            """
            WITH share AS (
                SELECT ceil(count(*)::numeric / greatest(1, (
                    \(Self.countSharers(with: incarnation)))))::bigint AS count
                FROM shard
            ),
            free AS (
                SELECT number FROM shard s
                WHERE NOT EXISTS (SELECT 1 FROM worker w WHERE w.incarnation = s.worker)
                ORDER BY number
                LIMIT greatest(0, (SELECT count FROM share) - (
                    SELECT count(*) FROM shard WHERE worker = \(incarnation)))
            ),
            taken AS (
                UPDATE shard SET worker = \(incarnation)
                WHERE number IN (SELECT number FROM free)
                    AND EXISTS (SELECT 1 FROM worker WHERE incarnation = \(incarnation))
                RETURNING number
            )
            -- The new owner does not know yet whether a host can be reached.
            UPDATE host h SET is_closed = false FROM taken t
            WHERE h.is_closed AND h.shard = ANY (ARRAY[t.number])
            """,
            """
            SELECT s.number, (
                SELECT ceil(count(*)::numeric / greatest(1, (
                    \(Self.countSharers(with: incarnation)))))::bigint
                FROM shard) AS share
            FROM shard s JOIN worker w ON w.incarnation = s.worker
            WHERE w.incarnation = \(incarnation)
            """,
        ])
        let shards = Set(
            try rows[3].map { row throws(StoreError) in
                Shard(number: Int(try row.decode("number", as: Int16.self)))
            }
        )
        var hosts = try await boundedHosts(in: shards)
        let taken = shards.subtracting(known)
        if !taken.isEmpty {
            hosts.merge(try await slowedHosts(in: taken)) { bounded, _ in bounded }
        }
        return ShardLease(
            shards: shards,
            share: try rows[3].first.map { row throws(StoreError) in
                Int(try row.decode("share", as: Int64.self))
            } ?? Shard.count,
            hosts: hosts
        )
    }

    /// Returns the hosts with an operator's bound, of which none is left out.
    private func boundedHosts(
        in shards: Set<Shard>
    ) async throws(StoreError) -> [HostKey: HostState] {
        try await hosts(
            """
            SELECT h.host_key, h.connections_max, h.connections
            FROM host h
            WHERE h.connections_max IS NOT NULL
                AND h.shard = ANY (\(shards.map { Int16($0.number) }))
            """
        )
    }

    /// Returns the hosts that are given fewer connections, of each shard the newest: what a new
    /// owner of the shard has to know.
    private func slowedHosts(
        in shards: Set<Shard>
    ) async throws(StoreError) -> [HostKey: HostState] {
        try await hosts(
            """
            SELECT h.host_key, NULL::smallint AS connections_max, h.connections
            FROM unnest(\(shards.map { Int16($0.number) })) AS s (number)
            CROSS JOIN LATERAL (
                SELECT x.host_key, x.connections FROM host x
                WHERE x.shard = ANY (ARRAY[s.number]) AND x.connections IS NOT NULL
                    AND x.connections_max IS NULL
                -- With the shard, no index of all shards seems to serve the order.
                ORDER BY x.shard, x.changed_at DESC LIMIT \(Self.slowedHostsMax)
            ) h
            """
        )
    }

    private func hosts(_ query: Query) async throws(StoreError) -> [HostKey: HostState] {
        var hosts: [HostKey: HostState] = [:]
        for row in try await database.run(query) {
            hosts[try row.hostKey("host_key")] = HostState(
                maxConnections: try row.decodeIfPresent("connections_max", as: Int16.self)
                    .map(Int.init),
                connections: try row.decodeIfPresent("connections", as: Int16.self)
                    .map(Int.init)
            )
        }
        return hosts
    }

    /// Returns the number of connections that other workers still have to the hosts of a worker's
    /// shards, from the time when these were theirs.
    ///
    /// The numbers only fall, because no other worker claims there. So a worker asks this about new
    /// shards until there are none, and then stops: under an old snapshot the query reads each
    /// attempt that others have had since.
    package func foreignAttempts(
        inShardsOf incarnation: Int32
    ) async throws(StoreError) -> [Flow: Int] {
        let rows = try await database.run(
            """
            WITH running AS MATERIALIZED (
                SELECT a.host_key, a.session_id, count(*) AS running
                FROM (
                    SELECT host_key, session_id FROM running_attempt
                    WHERE \(AttemptRuns.areOfEarlier(than: incarnation))
                    UNION ALL SELECT host_key, session_id FROM running_attempt
                    WHERE \(AttemptRuns.areOfLater(than: incarnation))
                ) a
                GROUP BY a.host_key, a.session_id
            )
            SELECT r.* FROM running r JOIN shard s ON s.number = \(Self.shardNumber(of: "r.host_key"))
            WHERE s.worker = \(incarnation)
            """
        )
        var foreign: [Flow: Int] = [:]
        for row in rows {
            let flow = Flow(
                hostKey: try row.hostKey("host_key"),
                session: try row.session("session_id")
            )
            foreign[flow] = Int(try row.decode("running", as: Int64.self))
        }
        return foreign
    }

    /// Gives shards away, after the last claim from them.
    package func releaseShards(
        _ shards: Set<Shard>,
        incarnation: Int32
    ) async throws(StoreError) {
        _ = try await database.run(
            """
            UPDATE shard SET worker = NULL
            WHERE worker = \(incarnation) AND number = ANY (\(shards.map { Int16($0.number) }))
            """
        )
    }

    /// Returns the query for the number of workers that share the shards: the worker itself and all
    /// that have sent a heartbeat since their registration.
    ///
    /// A worker that never received the answer to its registration takes no share.
    private static func countSharers(with incarnation: Int32) -> Query {
        """
        SELECT count(*) FROM worker
        WHERE incarnation > 0 AND leases_shards AND (heartbeat_at > started_at OR incarnation = \(incarnation))
        """
    }

    /// The maximum number of hosts without a bound that a lease reports of a shard.
    ///
    /// It is more than one tenant can have, so that its hosts do not hide those of others.
    private static let slowedHostsMax = 2 * HostStore.tenantHostsMax

    private static func shardNumber(of hostKey: Query) -> Query {
        "(\(hostKey) >> \(Shard.hostKeyBits)) + \(Shard.count / 2)"
    }
}

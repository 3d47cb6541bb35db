import Foundation
import Postgres
package import TransferModel

/// Credentials of a tenant, and the access tokens made with them.
package struct CredentialStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension CredentialStore {
    /// Whether there is a key to seal with.
    ///
    /// Without one no secret of a credential may be taken: it would be stored as it is.
    package var canSeal: Bool { database.settings.secrets != nil }

    /// Stores a credential under its name, replacing an older one, and lets the tasks continue that
    /// have waited for it: the first of them at once, the rest with
    /// ``AnswerStore/continueAnswered()``.
    ///
    /// The caller has asked ``canSeal``: without a key, the secrets are stored as they are.
    ///
    /// - Returns: the credential, and whether there was none of that name.
    package func putCredential(
        tenant: TenantID,
        name: String,
        form: Credential.Form,
        origins: [Origin],
        secrets: Credential.Secrets
    ) async throws(StoreError) -> (credential: Credential, isCreated: Bool) {
        let id = UUID.version7()
        let kind = form.kind.rawValue
        let secret = try database.sealer.seal(
            secrets: secrets,
            at: .secrets(
                of: CredentialUse(id: id, tenant: tenant, name: name, form: form, origins: origins)
            )
        )
        let form = try StoredJSON.text(
            of: form,
            database.sealer,
            at: .tokenEndpoint(of: id, named: name, of: tenant)
        )
        let room = Database.hasRoom(
            in:
                "SELECT 1 FROM credential x WHERE x.tenant_id = \(tenant.uuid) AND x.name IS NOT NULL",
            maximum: Quota.credentialsMax
        )
        let answer = UUID.version7()
        let rows = try await database.run([
            AnswerStore.lockQuestions(of: tenant),
            """
            INSERT INTO credential AS c (id, tenant_id, name, kind, form, origins, secret)
            SELECT
                \(id), \(tenant.uuid), \(name), \(kind),
                \(form)::text::jsonb, \(origins.map(\.description)),
                \(secret)
            WHERE EXISTS (SELECT 1 FROM credential x
                    WHERE x.tenant_id = \(tenant.uuid) AND x.name = \(name) COLLATE "C")
                OR \(room)
            ON CONFLICT (tenant_id, name COLLATE "C") WHERE name IS NOT NULL DO UPDATE SET
                kind = excluded.kind, form = excluded.form, origins = excluded.origins,
                secret = excluded.secret, updated_at = clock_timestamp(),
                version = c.version + 1, access_token = NULL, access_expires_at = NULL,
                refreshing_until = NULL, failure = NULL
            RETURNING id = \(id) AS is_created
            """,
            AnswerStore.storeAnswer(answer, credential: name, of: tenant),
            "\(Self.selectCredential) WHERE tenant_id = \(tenant.uuid) AND name = \(name) COLLATE \"C\"",
        ])
        guard let created = rows[1].first else {
            throw .quotaExceeded(Quota(.credentials, maximum: Quota.credentialsMax))
        }
        guard let row = rows[3].first else {
            throw StoreError(decoding: "a credential that was just written is not there")
        }
        await AnswerStore(database).beginContinuing(with: answer)
        // Its time has been set once more.
        let isCreated = try created.decode("is_created", as: Bool.self)
        if let current = try await credential(tenant: tenant, name: name) {
            return (current, isCreated)
        }
        return (try Credential(row), isCreated)
    }

    /// Returns the tenant's credential of that name.
    package func credential(
        tenant: TenantID,
        name: String
    ) async throws(StoreError) -> Credential? {
        try await database.fetchFirst(
            Credential.self,
            "\(Self.selectCredential) WHERE tenant_id = \(tenant.uuid) AND name = \(name) COLLATE \"C\""
        )
    }

    /// Returns a page of the tenant's credentials by name, in byte order; their places are their
    /// names.
    package func credentials(
        tenant: TenantID,
        after name: String?,
        limit: Int
    ) async throws(StoreError) -> ListPage<Credential, String> {
        let rows = try await database.run(
            """
            \(Self.selectCredential)
            WHERE tenant_id = \(tenant.uuid) AND name > \(name ?? "") COLLATE "C"
            ORDER BY name COLLATE "C" LIMIT \(limit + 1)
            """
        )
        return try ListPage(
            rows,
            limit: limit,
            place: { row throws(StoreError) in try row.decode("name", as: String.self) },
            item: Credential.init
        )
    }

    /// Removes a credential; running attempts keep what they have already shown.
    ///
    /// - Returns: false when the tenant has none of that name.
    package func deleteCredential(
        tenant: TenantID,
        name: String
    ) async throws(StoreError) -> Bool {
        try await database.run(
            """
            DELETE FROM credential
            WHERE tenant_id = \(tenant.uuid) AND name = \(name) COLLATE "C"
            """
        ).affectedCount == 1
    }

    /// Returns the credentials that claims are to show: the client's answer for the session and the
    /// origin, or otherwise the one named by the task or its session.
    ///
    /// - Returns: no entry for claims that have none.
    package func credentials(
        for queries: [CredentialQuery]
    ) async throws(StoreError) -> [TaskID: FoundCredential] {
        let rows = try await database.run(
            """
            SELECT i.task_id, c.* FROM unnest(
                \(queries.map(\.claim.task.uuid)), \(queries.map(\.claim.tenant.uuid)),
                \(queries.map(\.claim.session.uuid)), \(queries.map(\.origin.description)),
                \(queries.map(\.claim.options.credential))
            ) AS i (task_id, tenant_id, session_id, origin, name)
            -- An answer whose credential was deleted counts as none.
            LEFT JOIN LATERAL (
                SELECT x.credential_id FROM session_credential x
                JOIN credential k ON k.id = ANY (ARRAY[x.credential_id])
                WHERE x.session_id = ANY (ARRAY[i.session_id]) AND x.origin = ANY (ARRAY[i.origin])
                LIMIT 1
            ) s ON true
            CROSS JOIN LATERAL (
                \(Self.selectStored) WHERE id = s.credential_id
                UNION ALL
                \(Self.selectStored) WHERE s.credential_id IS NULL
                    AND tenant_id = i.tenant_id AND name = i.name COLLATE "C"
            ) c
            """
        )
        var found: [TaskID: FoundCredential] = [:]
        for row in rows { found[try row.task("task_id")] = try Self.found(in: row) }
        return found
    }

    /// Returns the credential of a row, which holds up no other if it cannot be read.
    private static func found(in row: StoredRow) throws(StoreError) -> FoundCredential {
        do throws(StoreError) {
            return .readable(try StoredCredential(row))
        } catch {
            let id = try row.decode("id", as: UUID.self)
            return .unreadable(CredentialID(id), because: error.reason)
        }
    }

    /// Returns the credential as it is now.
    package func storedCredential(_ id: CredentialID) async throws(StoreError) -> StoredCredential?
    {
        let rows = try await database.run("\(Self.selectStored) WHERE id = \(id.uuid)")
        return try rows.first.map { row throws(StoreError) in try StoredCredential(row) }
    }

    private static let selectStored: Query = """
        SELECT id, tenant_id, name, kind, form, origins, created_at, updated_at,
            access_expires_at, failure, version, secret, access_token,
            ceil(extract(epoch FROM access_expires_at - clock_timestamp()) * 1000)::bigint
                AS access_expires_in_ms
        FROM credential
        """

    private static let selectCredential: Query = """
        SELECT id, tenant_id, name, kind, form, origins, created_at, updated_at,
            access_expires_at, failure
        FROM credential
        """
}

extension CredentialStore {
    /// The time reserved for a refresh, longer than any request to a token endpoint lasts.
    private static let refreshSeconds = 60

    /// Elects the caller to refresh the token, alone in the whole fleet: a refresh token may be
    /// valid for a single use.
    ///
    /// - Returns: the caller's turn; nil when another caller refreshes it, or the credential has
    ///   changed.
    package func beginRefresh(
        _ stored: StoredCredential
    ) async throws(StoreError) -> RefreshTurn? {
        let rows = try await database.run(
            """
            UPDATE credential
            SET refreshing_until = clock_timestamp() + \(Self.refreshSeconds) * interval '1 s'
            WHERE id = \(stored.credential.id.uuid) AND version = \(stored.version)
                AND (refreshing_until IS NULL OR refreshing_until < clock_timestamp())
            RETURNING refreshing_until
            """
        )
        return try rows.first.map { row throws(StoreError) in
            RefreshTurn(stored: stored, until: try row.decode("refreshing_until"))
        }
    }

    /// Stores an access token, and the secrets when the refresh token was replaced.
    ///
    /// They are stored even if the caller's turn is over, because an endpoint may take a refresh
    /// token only once. What another caller is told in its turn is then for a version that is gone,
    /// and is not stored.
    ///
    /// - Returns: false when the credential has changed meanwhile.
    package func finishRefresh(
        _ stored: StoredCredential,
        accessToken: Secret,
        expiresIn: Duration?,
        secrets: Credential.Secrets?
    ) async throws(StoreError) -> Bool {
        let use = CredentialUse(stored.credential)
        let token = try database.sealer.seal(
            Array(accessToken.exposed.utf8),
            at: .accessToken(of: use)
        )
        let secret = try secrets.map { secrets throws(StoreError) in
            try database.sealer.seal(secrets: secrets, at: .secrets(of: use))
        }
        return try await database.run(
            """
            UPDATE credential SET version = version + 1, access_token = \(token),
                access_expires_at = clock_timestamp()
                    + \(expiresIn?.milliseconds)::bigint * interval '1 ms',
                secret = coalesce(\(secret), secret), refreshing_until = NULL, failure = NULL
            WHERE id = \(use.id) AND version = \(stored.version)
            """
        ).affectedCount == 1
    }

    /// Records why there is no access token, and lets others try.
    ///
    /// Without a reason, because nobody was asked, the last one stays.
    ///
    /// - Returns: false when the credential has changed meanwhile, or it is another caller's turn.
    @discardableResult
    package func failRefresh(
        _ turn: RefreshTurn,
        because failure: String?
    ) async throws(StoreError) -> Bool {
        let stored = turn.stored
        return try await database.run(
            """
            UPDATE credential SET refreshing_until = NULL, failure = coalesce(\(failure), failure)
            WHERE id = \(stored.credential.id.uuid) AND version = \(stored.version)
                AND refreshing_until = \(turn.until)
            """
        ).affectedCount == 1
    }

    /// Removes an access token that an origin has refused, and marks it as expired.
    ///
    /// One that is being replaced stays as it is: another version would refuse what the endpoint
    /// answers.
    package func expireAccessToken(of shown: ShownCredential) async throws(StoreError) {
        _ = try await database.run(
            """
            UPDATE credential SET version = version + 1, access_token = NULL,
                access_expires_at = clock_timestamp()
            WHERE id = \(shown.id.uuid) AND version = \(shown.version)
                AND (refreshing_until IS NULL OR refreshing_until < clock_timestamp())
            """
        )
    }
}

extension Credential: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let use = try CredentialUse(row)
        self.init(
            id: CredentialID(use.id),
            tenant: use.tenant,
            name: use.name,
            form: use.form,
            origins: use.origins,
            createdAt: try row.decode("created_at"),
            updatedAt: try row.decode("updated_at"),
            accessExpiresAt: try row.decodeIfPresent("access_expires_at"),
            failure: try row.decodeIfPresent("failure")
        )
    }
}

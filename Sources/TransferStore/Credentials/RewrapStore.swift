import Foundation
import Postgres
import TransferModel

/// Seals everything with the key that seals now, so that older keys are needed no longer.
package struct RewrapStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension RewrapStore {
    /// Rows that are sealed alike.
    package enum Part: String, CaseIterable, Sendable {
        case credentials, sessions, subscriptions, answers, tasks, uploads
        case signingSecrets = "signing secrets"
    }

    /// A place among the rows of a part.
    package struct Cursor: Sendable {
        let owner: UUID
        let key: [UInt8]
    }

    /// What was done with some rows.
    package struct Page: Sendable {
        /// The rows that were sealed with the key that seals now.
        package var renewed = 0
        /// The rows that do not open, because their key is missing or they were changed, and
        /// credentials that are not sealed.
        package var unreadable = 0
        /// The rows that somebody changed or removed meanwhile; they may still need an older key.
        package var missed = 0
        /// The place after them; nil at the end.
        package var next: Cursor?
    }

    /// Seals up to `limit` rows of a part after `cursor` with the key that seals now.
    ///
    /// A row that somebody changes meanwhile keeps the change, and counts as missed.
    package func rewrap(
        _ part: Part,
        after cursor: Cursor?,
        limit: Int
    ) async throws(StoreError) -> Page {
        let rows = try await database.run(Self.selection(of: part, after: cursor, limit: limit))
        var page = Page()
        var updates: [Query] = []
        for row in rows {
            let owner = try row.decode("owner", as: UUID.self)
            page.next = Cursor(owner: owner, key: try row.decode("key"))
            do throws(StoreError) {
                if let update = try update(of: part, owner, row) { updates.append(update) }
            } catch .defect {
                page.unreadable += 1
            } catch {
                throw error
            }
        }
        if !updates.isEmpty {
            let results = try await database.run(updates)
            page.renewed = results.map(\.affectedCount).reduce(0, +)
            page.missed = updates.count - page.renewed
        }
        if rows.count < limit { page.next = nil }
        return page
    }

    private static func selection(of part: Part, after cursor: Cursor?, limit: Int) -> Query {
        let owner = cursor?.owner ?? UUID.zero
        let key = cursor?.key ?? []
        return switch part {
        case .credentials:
            """
            SELECT id AS owner, ''::bytea AS key, id, tenant_id, name, kind, form, origins, secret,
                access_token
            FROM credential WHERE id > \(owner) ORDER BY id LIMIT \(limit)
            """
        case .sessions:
            """
            SELECT id AS owner, ''::bytea AS key, tenant_id, client, identifier, additional_headers
            FROM session WHERE id > \(owner) ORDER BY id LIMIT \(limit)
            """
        case .subscriptions:
            """
            SELECT id AS owner, ''::bytea AS key, tenant_id, url, headers
            FROM subscription WHERE id > \(owner) ORDER BY id LIMIT \(limit)
            """
        case .signingSecrets:
            """
            SELECT k.subscription_id AS owner, int4send(k.number) AS key, b.tenant_id, k.number,
                k.secret
            FROM signing_secret k JOIN subscription b ON b.id = k.subscription_id
            WHERE (k.subscription_id, int4send(k.number)) > (\(owner), \(key))
            ORDER BY k.subscription_id, int4send(k.number) LIMIT \(limit)
            """
        case .answers:
            """
            SELECT tenant_id AS owner, key, body FROM idempotency_key
            WHERE (tenant_id, key) > (\(owner), \(key)) ORDER BY tenant_id, key LIMIT \(limit)
            """
        case .tasks:
            """
            SELECT id AS owner, ''::bytea AS key, tenant_id, url, headers, upload_data,
                options->'mirrors' AS mirrors
            FROM task WHERE id > \(owner) ORDER BY id LIMIT \(limit)
            """
        case .uploads:
            """
            SELECT x.task_id AS owner, ''::bytea AS key, t.tenant_id, x.url
            FROM upload_resource x JOIN task t ON t.id = x.task_id
            WHERE x.task_id > \(owner) ORDER BY x.task_id LIMIT \(limit)
            """
        }
    }

    /// Returns the statement that seals a row; nil if it is sealed with the right key already.
    private func update(
        of part: Part,
        _ owner: UUID,
        _ row: StoredRow
    ) throws(StoreError) -> Query? {
        switch part {
        case .credentials: try credential(row)
        case .sessions: try session(owner, row)
        case .subscriptions: try subscription(SubscriptionID(owner), row)
        case .signingSecrets: try signingSecret(SubscriptionID(owner), row)
        case .answers: try answer(TenantID(owner), row)
        case .tasks: try task(TaskID(owner), row)
        case .uploads: try upload(TaskID(owner), row)
        }
    }

    private func credential(_ row: StoredRow) throws(StoreError) -> Query? {
        let use = try CredentialUse(row)
        let form = try row.decode("form", as: JSONText.self).text
        let secret = try row.decode("secret", as: [UInt8].self)
        let token = try row.decodeIfPresent("access_token", as: [UInt8].self)
        let newForm = try StoredJSON.renewed(
            form: form,
            row.sealer,
            at: .tokenEndpoint(of: use.id, named: use.name, of: use.tenant)
        )
        let newSecret = try renewed(secret, row.sealer, at: .secrets(of: use))
        let newToken = try token.flatMap { token throws(StoreError) in
            try renewed(token, row.sealer, at: .accessToken(of: use))
        }
        guard newForm != nil || newSecret != nil || newToken != nil else { return nil }
        return """
            UPDATE credential SET form = \(newForm ?? form)::text::jsonb,
                secret = \(newSecret ?? secret), access_token = \(newToken ?? token)
            WHERE id = \(use.id) AND form = \(form)::text::jsonb AND secret = \(secret)
                AND access_token IS NOT DISTINCT FROM \(token)
            """
    }

    /// Returns a value of a credential as it is to be stored now; nil if it is stored so.
    ///
    /// A plain one is no credential's, and would be believed once it is sealed.
    private func renewed(
        _ stored: [UInt8],
        _ sealer: RowSealer,
        at place: RowSealer.Place
    ) throws(StoreError) -> [UInt8]? {
        try sealer.requireSealed(stored, at: place)
        return try sealer.renewed(stored, at: place)
    }

    private func session(_ id: UUID, _ row: StoredRow) throws(StoreError) -> Query? {
        let stored = try row.decode("additional_headers", as: JSONText.self).text
        let place = RowSealer.Place.headers(
            ofSession: try row.decode("identifier"),
            try row.client("client"),
            try row.tenant("tenant_id")
        )
        return try row.sealer.renewed(headers: stored, at: place).map { headers in
            """
            UPDATE session SET additional_headers = \(headers)::text::jsonb
            WHERE id = \(id) AND additional_headers = \(stored)::text::jsonb
            """
        }
    }

    private func subscription(_ id: SubscriptionID, _ row: StoredRow) throws(StoreError) -> Query? {
        let tenant = try row.tenant("tenant_id")
        let url = try row.decode("url", as: String.self)
        let headers = try row.decode("headers", as: JSONText.self).text
        let newURL = try row.sealer.renewed(url: url, at: .url(of: id, of: tenant))
        let newHeaders = try row.sealer.renewed(headers: headers, at: .headers(of: id, of: tenant))
        guard newURL != nil || newHeaders != nil else { return nil }
        return """
            UPDATE subscription SET url = \(newURL ?? url),
                headers = \(newHeaders ?? headers)::text::jsonb
            WHERE id = \(id.uuid) AND url = \(url) AND headers = \(headers)::text::jsonb
            """
    }

    private func signingSecret(_ id: SubscriptionID, _ row: StoredRow) throws(StoreError) -> Query?
    {
        let stored = try row.decode("secret", as: [UInt8].self)
        let number = try row.decode("number", as: Int32.self)
        let place = RowSealer.Place.signingSecret(of: id, of: try row.tenant("tenant_id"))
        return try row.sealer.renewed(stored, at: place).map { secret in
            """
            UPDATE signing_secret SET secret = \(secret)
            WHERE subscription_id = \(id.uuid) AND number = \(number) AND secret = \(stored)
            """
        }
    }

    private func answer(_ tenant: TenantID, _ row: StoredRow) throws(StoreError) -> Query? {
        let key = try row.decode("key", as: [UInt8].self)
        let stored = try row.decode("body", as: [UInt8].self)
        return try row.sealer.renewed(stored, at: .answer(to: key, of: tenant)).map { body in
            """
            UPDATE idempotency_key SET body = \(body)
            WHERE tenant_id = \(tenant.uuid) AND key = \(key) AND body = \(stored)
            """
        }
    }

    private func task(_ id: TaskID, _ row: StoredRow) throws(StoreError) -> Query? {
        let tenant = try row.tenant("tenant_id")
        let url = try row.decode("url", as: String.self)
        let headers = try row.decodeIfPresent("headers", as: JSONText.self)?.text
        let body = try row.decodeIfPresent("upload_data", as: [UInt8].self)
        let newURL = try row.sealer.renewed(url: url, at: .url(of: id, of: tenant))
        let newHeaders = try headers.flatMap { headers throws(StoreError) in
            try row.sealer.renewed(headers: headers, at: .headers(of: id, of: tenant))
        }
        let newBody = try body.flatMap { body throws(StoreError) in
            try row.sealer.renewed(body, at: .body(of: id, of: tenant))
        }
        let mirrors = try row.decodeIfPresent("mirrors", as: JSONText.self)?.text
        let newMirrors = try mirrors.flatMap { mirrors throws(StoreError) in
            try row.sealer.renewed(urls: mirrors, at: .url(of: id, of: tenant))
        }
        guard newURL != nil || newHeaders != nil || newBody != nil || newMirrors != nil else {
            return nil
        }
        return """
            UPDATE task SET url = \(newURL ?? url),
                headers = \(newHeaders ?? headers)::text::jsonb, upload_data = \(newBody ?? body),
                options = CASE WHEN \(newMirrors)::text IS NULL THEN options
                    ELSE jsonb_set(options, '{mirrors}', \(newMirrors)::text::jsonb) END
            WHERE id = \(id.uuid) AND url = \(url)
                AND headers IS NOT DISTINCT FROM \(headers)::text::jsonb
                AND upload_data IS NOT DISTINCT FROM \(body)
                AND options->'mirrors' IS NOT DISTINCT FROM \(mirrors)::text::jsonb
            """
    }

    private func upload(_ id: TaskID, _ row: StoredRow) throws(StoreError) -> Query? {
        let stored = try row.decode("url", as: [UInt8].self)
        let place = RowSealer.Place.uploadResource(of: id, of: try row.tenant("tenant_id"))
        return try row.sealer.renewed(stored, at: place).map { url in
            """
            UPDATE upload_resource SET url = \(url)
            WHERE task_id = \(id.uuid) AND url = \(stored)
            """
        }
    }
}

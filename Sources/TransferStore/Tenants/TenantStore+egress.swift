import Postgres
package import TransferModel

/// Where requests of tenants may go.
extension TenantStore {
    /// The most tenants that may have rules of their own, because every instance keeps them all.
    package static let egressRulesMax: Int64 = 10_000

    /// The rules of a tenant, with the version of the row that they were read from.
    package struct VersionedRules: Equatable, Sendable {
        package let version: String
        package let rules: EgressRules
    }

    /// Returns the versions of the rules of all tenants that have some; a change of the rules
    /// changes the version.
    ///
    /// It is the transaction that wrote the row (`xmin`), so that the rules themselves, which may
    /// be long, are not read for it. Whatever else is changed of the tenant changes it, too.
    package func egressVersions() async throws(StoreError) -> [TenantID: String] {
        let rows = try await database.run(
            """
            SELECT n.id, n.xmin::text AS version FROM tenant n
            WHERE n.egress_rules IS NOT NULL
            """
        )
        var versions: [TenantID: String] = [:]
        for row in rows {
            versions[try row.tenant("id")] = try row.decode("version", as: String.self)
        }
        return versions
    }

    /// Returns the rules of those of the tenants that have some.
    package func egressRules(
        of tenants: [TenantID]
    ) async throws(StoreError) -> [TenantID: VersionedRules] {
        let rows = try await database.run(
            """
            SELECT n.id, n.xmin::text AS version, n.egress_rules::text AS egress_rules
            FROM tenant n
            WHERE n.id = ANY (\(tenants.map(\.uuid))) AND n.egress_rules IS NOT NULL
            """
        )
        var rules: [TenantID: VersionedRules] = [:]
        for row in rows {
            rules[try row.tenant("id")] = VersionedRules(
                version: try row.decode("version"),
                rules: EgressRules(stored: try row.decode("egress_rules"))
            )
        }
        return rules
    }

    /// Returns the rules of the tenant of that name, which may be none; nil without such a tenant.
    package func egressRules(
        ofTenantNamed name: String
    ) async throws(StoreError) -> EgressRules? {
        let rows = try await database.run(
            "SELECT n.egress_rules::text AS egress_rules FROM tenant n WHERE n.name = \(name)"
        )
        return try rows.first.map { row throws(StoreError) in
            try row.decodeIfPresent("egress_rules", as: String.self)
                .map(EgressRules.init(stored:)) ?? EgressRules()
        }
    }

    /// Sets the rules of the tenant of that name.
    ///
    /// - Returns: false if there is no such tenant, or if too many others have rules.
    package func setEgressRules(
        _ rules: EgressRules,
        ofTenantNamed name: String
    ) async throws(StoreError) -> Bool {
        let stored = rules.isEmpty ? nil : try StoredJSON.encode(StoredEgressRules(rules))
        let room = Database.hasRoom(
            in: "SELECT 1 FROM tenant x WHERE x.egress_rules IS NOT NULL AND x.name <> \(name)",
            maximum: Self.egressRulesMax
        )
        let rows = try await database.run(
            """
            UPDATE tenant SET egress_rules = \(stored)::text::jsonb
            WHERE name = \(name) AND (\(stored == nil) OR \(room))
            """
        )
        return rows.affectedCount == 1
    }
}

extension TenantStore {
    /// Returns the authorities that all tasks of the tenant trust besides the system's; nil for
    /// none.
    package func certificateAuthorities(
        tenant: TenantID
    ) async throws(StoreError) -> CertificateAuthorities? {
        let rows = try await database.run(
            "SELECT certificate_authorities FROM tenant WHERE id = \(tenant.uuid)"
        )
        return try rows.first?.decodeIfPresent("certificate_authorities")
            .map(CertificateAuthorities.init(stored:))
    }

    /// Changes the authorities that all tasks of the tenant trust, from their next attempt on.
    package func setCertificateAuthorities(
        _ authorities: CertificateAuthorities?,
        tenant: TenantID
    ) async throws(StoreError) {
        _ = try await database.run(
            """
            UPDATE tenant SET certificate_authorities = \(authorities?.pem)
            WHERE id = \(tenant.uuid)
            """
        )
    }
}

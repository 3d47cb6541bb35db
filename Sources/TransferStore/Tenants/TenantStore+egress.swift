import Postgres
package import TransferModel

/// Where requests of tenants may go.
extension TenantStore {
    /// The most tenants that may have rules of their own, because every instance keeps them all.
    package static let egressRulesMax: Int64 = 10_000

    /// Returns the rules of all tenants that have some.
    package func egressRules() async throws(StoreError) -> [TenantID: EgressRules] {
        let rows = try await database.run(
            """
            SELECT n.id, n.egress_rules::text AS egress_rules FROM tenant n
            WHERE n.egress_rules IS NOT NULL
            """
        )
        var rules: [TenantID: EgressRules] = [:]
        for row in rows {
            rules[try row.tenant("id")] = EgressRules(stored: try row.decode("egress_rules"))
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

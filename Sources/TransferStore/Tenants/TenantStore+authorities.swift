import Postgres
package import TransferModel

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

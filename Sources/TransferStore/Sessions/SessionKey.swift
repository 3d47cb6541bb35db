import TransferModel

/// Names a living session of a tenant, as requests do.
struct SessionKey: Hashable, Sendable {
    let tenant: TenantID
    let client: ClientID
    /// Compared by their bytes, as in the database: Swift takes equivalent strings for equal.
    private let identifierUTF8: [UInt8]

    var identifier: String { String(decoding: identifierUTF8, as: UTF8.self) }

    init(tenant: TenantID, client: ClientID, identifier: String) {
        self.tenant = tenant
        self.client = client
        identifierUTF8 = Array(identifier.utf8)
    }
}

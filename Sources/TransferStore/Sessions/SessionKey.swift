import TransferModel

/// The name of a living session of a tenant, as in requests.
struct SessionKey: Hashable, Sendable {
    let tenant: TenantID
    let client: ClientID
    /// The identifier, compared by its bytes as in the database: Swift treats equivalent strings as
    /// equal.
    private let identifierUTF8: [UInt8]

    var identifier: String { String(decoding: identifierUTF8, as: UTF8.self) }

    init(tenant: TenantID, client: ClientID, identifier: String) {
        self.tenant = tenant
        self.client = client
        identifierUTF8 = Array(identifier.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(tenant)
        hasher.combine(client)
        // An array would be hashed byte by byte.
        identifierUTF8.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

package import TransferModel

/// The place of a session in the list of a tenant's sessions.
package struct SessionPlace: Equatable, Sendable {
    package let client: ClientID
    package let identifier: String

    package init(client: ClientID, identifier: String) {
        self.client = client
        self.identifier = identifier
    }

    init(_ row: StoredRow) throws(StoreError) {
        client = try row.client("client")
        identifier = try row.decode("identifier")
    }
}

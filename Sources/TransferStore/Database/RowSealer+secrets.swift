import TransferModel

extension RowSealer {
    /// The secrets of a credential, which are sealed as one value.
    private struct StoredSecrets: Codable {
        let main: String
        let client: String?
    }

    /// Returns the secrets of a credential as they are stored.
    func seal(
        secrets: Credential.Secrets,
        at place: @autoclosure () -> Place
    ) throws(StoreError) -> [UInt8] {
        let text = try StoredJSON.encode(
            StoredSecrets(main: secrets.main.exposed, client: secrets.client?.exposed)
        )
        return try seal(Array(text.utf8), at: place())
    }

    /// Returns the secrets that were stored as `stored`.
    func open(
        secrets stored: [UInt8],
        at place: @autoclosure () -> Place
    ) throws(StoreError) -> Credential.Secrets {
        let text = String(decoding: try open(stored, at: place()), as: UTF8.self)
        let secrets = try StoredJSON.decode(StoredSecrets.self, text)
        return Credential.Secrets(
            main: Secret(secrets.main),
            client: secrets.client.map { Secret($0) }
        )
    }
}

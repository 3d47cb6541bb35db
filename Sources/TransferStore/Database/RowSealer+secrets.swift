import TransferModel
import TransferSecrets

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
        let text = String(decoding: try openSealed(stored, at: place()), as: UTF8.self)
        let secrets = try StoredJSON.decode(StoredSecrets.self, text)
        return Credential.Secrets(
            main: Secret(secrets.main),
            client: secrets.client.map { Secret($0) }
        )
    }

    /// Returns the bytes that were stored as `stored`, which have to be sealed if there is a key.
    ///
    /// - Parameters:
    ///   - stored: what a column of a credential holds.
    ///   - place: where it is stored.
    /// - Returns: the plain bytes.
    /// - Throws: ``StoreError`` if they do not open, or are plain although there is a key.
    func openSealed(
        _ stored: [UInt8],
        at place: @autoclosure () -> Place
    ) throws(StoreError) -> [UInt8] {
        try requireSealed(stored, at: place())
        return try open(stored, at: place())
    }

    /// Throws if `stored` is plain although there is a key.
    ///
    /// Without a key no credential is taken, so none was stored plain before there was one. Whoever
    /// can write to the database, but has no key, could store a secret of their own.
    func requireSealed(
        _ stored: [UInt8],
        at place: @autoclosure () -> Place
    ) throws(StoreError) {
        guard box == nil || Self.isSealed(stored) else {
            throw StoreError(
                decoding: "a \(place().purpose.rawValue) is not sealed, although there is a key"
            )
        }
    }
}

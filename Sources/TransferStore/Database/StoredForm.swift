import Postgres
import TransferModel

/// The form of a ``Credential/Form`` as `jsonb`, stored beside its kind.
private struct StoredForm: Codable {
    var username: String?
    var name: String?
    var token_url: String?
    var client_id: String?
    var sends_secret_in_body: Bool?
    var scope: String?
    var certificate: String?
}

extension StoredJSON {
    static func text(
        of form: Credential.Form,
        _ sealer: RowSealer,
        at place: RowSealer.Place
    ) throws(StoreError) -> String {
        var stored = StoredForm()
        switch form {
        case .bearer: break
        case .basic(let username): stored.username = username
        case .header(let name): stored.name = name
        case .clientCertificate(let pem): stored.certificate = pem
        case .oauth2RefreshToken(let endpoint):
            stored.token_url = try sealer.seal(url: endpoint.url, at: place)
            stored.client_id = endpoint.clientID
            stored.sends_secret_in_body = endpoint.sendsSecretInBody
            stored.scope = endpoint.scope
        }
        return try encode(stored)
    }

    /// Returns a form as it is to be stored now; nil if it is stored so.
    static func renewed(
        form text: String,
        _ sealer: RowSealer,
        at place: RowSealer.Place
    ) throws(StoreError) -> String? {
        var stored = try decode(StoredForm.self, text)
        guard let url = stored.token_url,
            let newURL = try sealer.renewed(url: url, at: place)
        else { return nil }
        stored.token_url = newURL
        return try encode(stored)
    }

    static func form(
        _ kind: Credential.Kind,
        _ text: String,
        _ sealer: RowSealer,
        at place: RowSealer.Place
    ) throws(StoreError) -> Credential.Form {
        let stored = try decode(StoredForm.self, text)
        switch kind {
        case .bearer: return .bearer
        case .basic:
            if let username = stored.username { return .basic(username: username) }
        case .header:
            if let name = stored.name { return .header(name: name) }
        case .clientCertificate:
            if let pem = stored.certificate { return .clientCertificate(pem: pem) }
        case .oauth2RefreshToken:
            if let url = stored.token_url, let clientID = stored.client_id {
                return .oauth2RefreshToken(
                    Credential.TokenEndpoint(
                        url: try sealer.open(url: url, at: place),
                        clientID: clientID,
                        sendsSecretInBody: stored.sends_secret_in_body ?? false,
                        scope: stored.scope
                    )
                )
            }
        }
        throw StoreError(decoding: "a stored credential has no whole form")
    }
}

import Curl
import TransferModel
import TransferWire

extension CurlRequest {
    private static let refreshTimeout: Duration = .seconds(20)

    /// Creates a request for an access token (RFC 6749 §6).
    init(
        refreshing secrets: Credential.Secrets,
        at endpoint: Credential.TokenEndpoint,
        egress: EgressGuard
    ) {
        var fields = [
            ("grant_type", "refresh_token"), ("refresh_token", secrets.main.exposed),
        ]
        if let scope = endpoint.scope { fields.append(("scope", scope)) }
        var headers = [
            (name: "Content-Type", value: "application/x-www-form-urlencoded"),
            (name: "Accept", value: "application/json"),
        ]
        if let client = secrets.client, !endpoint.sendsSecretInBody {
            // Both are form-encoded first (RFC 6749 §2.3.1).
            let field = Credential.Form.basic(
                endpoint.clientID.formEncoded,
                Secret(client.exposed.formEncoded)
            )
            headers.append((name: field.name, value: field.value))
        } else {
            fields.append(("client_id", endpoint.clientID))
            if let client = secrets.client { fields.append(("client_secret", client.exposed)) }
        }
        let body = fields.map { "\($0.0)=\($0.1.formEncoded)" }.joined(separator: "&")
        self.init(
            url: endpoint.url,
            method: "POST",
            headers: headers,
            body: Array(body.utf8),
            egress: egress
        )
        totalTimeout = Self.refreshTimeout
        // A token for a single use must not be sent twice.
        isReplayable = false
    }
}

extension String {
    /// `application/x-www-form-urlencoded`, with `%20` for a space.
    fileprivate var formEncoded: String { PercentEncoding.encodeSegment(self) }
}

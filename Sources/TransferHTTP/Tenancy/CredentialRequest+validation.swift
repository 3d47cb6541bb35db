import TransferModel
import TransferWire

extension CredentialRequest {
    /// Returns the form and the secrets of this request, found at `pointer` in the body, or nil
    /// after adding what is wrong to `errors`.
    func credential(
        at pointer: String,
        into errors: inout [FieldError]
    ) -> (form: Credential.Form, secrets: Credential.Secrets)? {
        var fields = CredentialFields(self, pointer)
        let kind = Credential.Kind(word: kind)
        let form: Credential.Form
        var secrets = Credential.Secrets(main: Secret(""))
        switch kind {
        case .bearer:
            form = .bearer
            secrets.main = fields.secret(token, .token)
        case .basic:
            // RFC 7617 §2: the name ends at the first colon.
            form = .basic(username: fields.text(username, .username) { $0 != UInt8(ascii: ":") })
            secrets.main = fields.secret(password, .password, mayBeEmpty: true)
        case .header:
            form = .header(name: fields.headerName(name))
            secrets.main = fields.secret(value, .value)
        case .oauth2RefreshToken:
            form = .oauth2RefreshToken(
                Credential.TokenEndpoint(
                    url: fields.endpoint(tokenURL),
                    clientID: fields.text(clientID, .clientID),
                    sendsSecretInBody: clientSecretInBody ?? false,
                    scope: scope.map { fields.text($0, .scope) }
                )
            )
            secrets.main = fields.secret(refreshToken, .refreshToken)
            secrets.client = clientSecret.map { fields.secret($0, .clientSecret) }
        case .clientCertificate:
            form = .clientCertificate(pem: fields.certificate(certificate))
            secrets.main = fields.privateKey(privateKey)
        case nil:
            form = .bearer
            let kinds = Credential.Kind.allCases.map { "`\($0.rawValue)`" }
            fields.refuse(.kind, .invalidValue, "Must be one of \(kinds.joined(separator: ", ")).")
        }
        if let kind { fields.refuseOthers(than: Self.fields(of: kind), in: self) }
        errors += fields.errors
        return fields.errors.isEmpty ? (form, secrets) : nil
    }

    /// Returns the origins that the credential is for.
    func origins(into errors: inout [FieldError]) -> [Origin] {
        guard let origins else { return [] }
        guard (1...Credential.originsMax).contains(origins.count) else {
            errors.append(
                FieldError(
                    pointer: "/origins",
                    .invalidValue,
                    "Must have 1 to \(Credential.originsMax) origins; leave it out for anywhere."
                )
            )
            return []
        }
        return origins.enumerated().compactMap { index, text in
            if let origin = WebURL.origin(text) { return origin }
            errors.append(
                FieldError(
                    pointer: "/origins/\(index)",
                    .invalidURL,
                    "Must be a scheme, a host and, if need be, a port: https://files.example."
                )
            )
            return nil
        }
    }

    private static func fields(of kind: Credential.Kind) -> Set<CodingKeys> {
        switch kind {
        case .bearer: [.token]
        case .basic: [.username, .password]
        case .header: [.name, .value]
        case .oauth2RefreshToken:
            [.tokenURL, .clientID, .clientSecret, .clientSecretInBody, .refreshToken, .scope]
        case .clientCertificate: [.certificate, .privateKey]
        }
    }

    fileprivate func has(_ key: CodingKeys) -> Bool {
        switch key {
        case .kind: true
        case .origins: origins != nil
        case .clientSecretInBody: clientSecretInBody != nil
        case .token: token != nil
        case .username: username != nil
        case .password: password != nil
        case .name: name != nil
        case .value: value != nil
        case .tokenURL: tokenURL != nil
        case .clientID: clientID != nil
        case .clientSecret: clientSecret != nil
        case .refreshToken: refreshToken != nil
        case .scope: scope != nil
        case .certificate: certificate != nil
        case .privateKey: privateKey != nil
        }
    }
}

/// A check of the fields of a credential, one by one, which collects what is wrong.
private struct CredentialFields {
    typealias Key = CredentialRequest.CodingKeys

    private let pointer: String
    var errors: [FieldError] = []

    init(_ request: CredentialRequest, _ pointer: String) { self.pointer = pointer }

    mutating func refuse(_ key: Key, _ code: FieldError.Code, _ detail: String) {
        errors.append(FieldError(pointer: "\(pointer)/\(key.rawValue)", code, detail))
    }

    mutating func refuseOthers(than keys: Set<Key>, in request: CredentialRequest) {
        for key in Key.allCases
        where request.has(key) && !keys.contains(key) && key != .kind && key != .origins {
            refuse(key, .invalidValue, "Is not for a credential of this kind.")
        }
    }

    /// Returns text without control characters, for a header field.
    mutating func text(
        _ text: String?,
        _ key: Key,
        where isAllowed: (UInt8) -> Bool = { _ in true }
    ) -> String {
        guard let text else {
            refuse(key, .required, "Is required.")
            return ""
        }
        let isText = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && isAllowed($0) }
        if !(1...255).contains(text.utf8.count) || !isText {
            refuse(key, .invalidValue, "Must have 1 to 255 bytes and no control characters.")
        }
        return text
    }

    mutating func secret(_ text: String?, _ key: Key, mayBeEmpty: Bool = false) -> Secret {
        guard let text else {
            refuse(key, .required, "Is required.")
            return Secret("")
        }
        let isText = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        let hasSpace = [text.utf8.first, text.utf8.last].contains(0x20) && key != .password
        let bytes = (mayBeEmpty ? 0 : 1)...CredentialRules.secretBytesMax
        if !bytes.contains(text.utf8.count) || !isText || hasSpace {
            refuse(
                key,
                .invalidValue,
                "Must have \(bytes.lowerBound) to \(bytes.upperBound) bytes, no control characters "
                    + "and no space at its ends."
            )
        }
        return Secret(text)
    }

    mutating func headerName(_ name: String?) -> String {
        guard let name else {
            refuse(.name, .required, "Is required.")
            return ""
        }
        if HTTPHeader.fault(name: name, value: "") != nil {
            refuse(.name, .forbiddenHeader, "Must be the name of a field that may be sent.")
        } else if HTTPHeader.isHarmless(name: name) {
            refuse(.name, .forbiddenHeader, "Must not be a field that redirects take elsewhere.")
        }
        return name
    }

    mutating func certificate(_ pem: String?) -> String {
        guard let pem else {
            refuse(.certificate, .required, "Is required.")
            return ""
        }
        if CertificateAuthorities(pem: Array(pem.utf8)) == nil {
            refuse(
                .certificate,
                .invalidValue,
                "Must be certificates in PEM, at most \(CertificateAuthorities.bytesMax) bytes."
            )
        }
        return pem
    }

    /// Returns a private key; whether it belongs to the certificate is found out when connecting.
    mutating func privateKey(_ pem: String?) -> Secret {
        guard let pem else {
            refuse(.privateKey, .required, "Is required.")
            return Secret("")
        }
        let isKey =
            pem.utf8.starts(with: "-----BEGIN ".utf8) && !pem.utf8.contains(0)
            && pem.utf8.split(separator: UInt8(ascii: "\n")).contains { line in
                line.starts(with: "-----END ".utf8)
                    && line.contains(Array("PRIVATE KEY-----".utf8))
            }
        if !isKey || pem.utf8.count > CredentialRules.privateKeyBytesMax {
            refuse(
                .privateKey,
                .invalidValue,
                "Must be a private key in PEM, at most \(CredentialRules.privateKeyBytesMax) bytes."
            )
        } else if pem.contains("BEGIN ENCRYPTED ") || pem.contains("4,ENCRYPTED") {
            refuse(
                .privateKey,
                .invalidValue,
                "Must have no passphrase: `openssl pkey` removes it."
            )
        }
        return Secret(pem)
    }

    /// Returns a token endpoint, which must use TLS (RFC 6749 §3.2) or be on this machine.
    mutating func endpoint(_ text: String?) -> String {
        guard let text else {
            refuse(.tokenURL, .required, "Is required.")
            return ""
        }
        let isSafe = WebURL(text, allowsFragment: false).map { $0.isSecure || $0.isLoopback }
        if isSafe != true {
            refuse(.tokenURL, .invalidURL, "Must be an absolute https URL without a fragment.")
        }
        return text
    }
}

extension WebURL {
    fileprivate var isLoopback: Bool { ["127.0.0.1", "::1", "localhost"].contains(host) }

    /// Returns the origin in `text`, or nil when there is anything else in it.
    fileprivate static func origin(_ text: String) -> Origin? {
        guard let url = WebURL(text, allowsFragment: false) else { return nil }
        let rest = text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3)
        guard !rest.contains(where: { "/?".utf8.contains($0) }) else { return nil }
        return url.origin
    }
}

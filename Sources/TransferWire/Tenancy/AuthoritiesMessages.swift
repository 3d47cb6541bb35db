/// The body of `PUT /v1/tenant/certificate-authorities`.
package struct AuthoritiesRequest: Decodable, Sendable {
    /// In PEM.
    package let certificateAuthorities: String

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        certificateAuthorities = try container.decode(String.self, forKey: .certificateAuthorities)
    }

    private enum CodingKeys: String, CodingKey {
        case certificateAuthorities = "certificate_authorities"
    }
}

/// What a tenant trusts besides the system's authorities.
package struct AuthoritiesDocument: Codable, Sendable {
    /// In PEM, as it was given.
    package let certificateAuthorities: String
    /// Certificates in it.
    package let count: Int

    package init(certificateAuthorities: String, count: Int) {
        self.certificateAuthorities = certificateAuthorities
        self.count = count
    }

    private enum CodingKeys: String, CodingKey {
        case count
        case certificateAuthorities = "certificate_authorities"
    }
}

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

/// The certificate authorities that a tenant trusts besides the system's.
package struct AuthoritiesDocument: Codable, Sendable {
    /// The certificates in PEM, as they were given.
    package let certificateAuthorities: String
    /// The number of certificates.
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

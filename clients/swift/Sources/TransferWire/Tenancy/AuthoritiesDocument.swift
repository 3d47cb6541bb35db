/// The certificate authorities that a tenant trusts besides the system's.
public struct AuthoritiesDocument: Codable, Sendable {
    /// The certificates in PEM, as they were given.
    public let certificateAuthorities: String
    /// The number of certificates.
    public let count: Int

    /// Creates the value from its parts.
    public init(certificateAuthorities: String, count: Int) {
        self.certificateAuthorities = certificateAuthorities
        self.count = count
    }

    private enum CodingKeys: String, CodingKey {
        case count
        case certificateAuthorities = "certificate_authorities"
    }
}

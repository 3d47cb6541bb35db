/// The body of `PUT /v1/tenant/certificate-authorities`.
public struct AuthoritiesRequest: Codable, Sendable {
    /// The certificates in PEM.
    public let certificateAuthorities: String

    /// Creates a request.
    public init(certificateAuthorities: String) {
        self.certificateAuthorities = certificateAuthorities
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        certificateAuthorities = try container.decode(String.self, forKey: .certificateAuthorities)
    }

    private enum CodingKeys: String, CodingKey {
        case certificateAuthorities = "certificate_authorities"
    }
}

/// The body of `PUT /v1/tenant/certificate-authorities`.
package struct AuthoritiesRequest: Decodable, Sendable {
    /// The certificates in PEM.
    package let certificateAuthorities: String

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        certificateAuthorities = try container.decode(String.self, forKey: .certificateAuthorities)
    }

    private enum CodingKeys: String, CodingKey {
        case certificateAuthorities = "certificate_authorities"
    }
}

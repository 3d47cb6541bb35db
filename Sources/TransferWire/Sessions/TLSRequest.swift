/// The requirements on TLS, besides the verification that is always on.
package struct TLSRequest: Decodable, Sendable {
    /// The minimum version of TLS: `1.2` or `1.3`.
    package let minimumVersion: String?
    /// The authorities in PEM.
    package let certificateAuthorities: String?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        minimumVersion = try container.decodeIfPresent(String.self, forKey: .minimumVersion)
        certificateAuthorities = try container.decodeIfPresent(
            String.self,
            forKey: .certificateAuthorities
        )
    }

    private enum CodingKeys: String, CodingKey {
        case minimumVersion = "minimum_version"
        case certificateAuthorities = "certificate_authorities"
    }
}

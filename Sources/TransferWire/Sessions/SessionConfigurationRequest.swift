/// The configuration that a client asks for; what is absent gets its default.
package struct SessionConfigurationRequest: Decodable, Sendable {
    package let additionalHeaders: [String: String]?
    package let totalBytesPerSecondMax: Int64?
    package let sharedContainerIdentifier: String?
    /// The retention of results in seconds.
    package let resultRetention: Double?
    package let maxConnectionsPerHost: Int?
    package let isDiscretionary: Bool?
    package let options: OptionsRequest

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(
            keyedBy: ConfigurationKey.self,
            or: OptionsRequest.CodingKeys.self
        )
        additionalHeaders = try container.decodeIfPresent(
            [String: String?].self,
            forKey: .additionalHeaders
        )?.compactMapValues { $0 }
        totalBytesPerSecondMax = try container.decodeIfPresent(
            Int64.self,
            forKey: .totalBytesPerSecondMax
        )
        sharedContainerIdentifier = try container.decodeIfPresent(
            String.self,
            forKey: .sharedContainerIdentifier
        )
        resultRetention = try container.decodeIfPresent(Double.self, forKey: .resultRetention)
        maxConnectionsPerHost = try container.decodeIfPresent(
            Int.self,
            forKey: .maxConnectionsPerHost
        )
        isDiscretionary = try container.decodeIfPresent(Bool.self, forKey: .isDiscretionary)
        options = try OptionsRequest(from: decoder)
    }
}

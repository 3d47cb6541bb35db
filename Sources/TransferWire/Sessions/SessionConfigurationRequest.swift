/// The configuration that a client asks for; what is absent gets its default.
package struct SessionConfigurationRequest: Decodable, Sendable {
    /// The headers sent with every task; a task's own header takes precedence.
    package let additionalHeaders: [String: String]?
    /// The maximum rate of all running tasks together in bytes per second.
    package let totalBytesPerSecondMax: Int64?
    /// The container that an extension shares with the app that adopts its sessions.
    package let sharedContainerIdentifier: String?
    /// The retention of results in seconds.
    package let resultRetention: Double?
    /// The maximum number of connections of the session's tasks to one host.
    package let maxConnectionsPerHost: Int?
    /// Whether the session's tasks wait until there is nothing else to do.
    package let isDiscretionary: Bool?
    /// The options for transfers of its tasks.
    package let options: OptionMembers

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: ConfigurationKey.self)
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
        options = try OptionMembers(from: decoder, besides: ConfigurationKey.self)
    }
}

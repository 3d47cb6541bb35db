/// The configuration that a client asks for; what is absent gets its default.
public struct SessionConfigurationRequest: Codable, Sendable {
    /// The headers sent with every task; a task's own header takes precedence.
    public let additionalHeaders: [String: String]?
    /// The maximum rate of all running tasks together in bytes per second.
    public let totalBytesPerSecondMax: Int64?
    /// The container that an extension shares with the app that adopts its sessions.
    public let sharedContainerIdentifier: String?
    /// The retention of results in seconds.
    public let resultRetention: Double?
    /// The maximum number of connections of the session's tasks to one host.
    public let maxConnectionsPerHost: Int?
    /// Whether the session's tasks wait until there is nothing else to do.
    public let isDiscretionary: Bool?
    /// The options for transfers of its tasks.
    public let options: OptionMembers

    /// Creates a request; what is nil is absent.
    public init(
        additionalHeaders: [String: String]? = nil,
        totalBytesPerSecondMax: Int64? = nil,
        sharedContainerIdentifier: String? = nil,
        resultRetention: Double? = nil,
        maxConnectionsPerHost: Int? = nil,
        isDiscretionary: Bool? = nil,
        options: OptionMembers = OptionMembers()
    ) {
        self.additionalHeaders = additionalHeaders
        self.totalBytesPerSecondMax = totalBytesPerSecondMax
        self.sharedContainerIdentifier = sharedContainerIdentifier
        self.resultRetention = resultRetention
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.isDiscretionary = isDiscretionary
        self.options = options
    }

    /// Reads the members of an object.
    public init(from decoder: any Decoder) throws {
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

    /// Writes the members of an object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: ConfigurationKey.self)
        try container.encodeIfPresent(additionalHeaders, forKey: .additionalHeaders)
        try container.encodeIfPresent(totalBytesPerSecondMax, forKey: .totalBytesPerSecondMax)
        try container.encodeIfPresent(
            sharedContainerIdentifier,
            forKey: .sharedContainerIdentifier
        )
        try container.encodeIfPresent(resultRetention, forKey: .resultRetention)
        try container.encodeIfPresent(maxConnectionsPerHost, forKey: .maxConnectionsPerHost)
        try container.encodeIfPresent(isDiscretionary, forKey: .isDiscretionary)
        try options.encode(to: encoder)
    }
}

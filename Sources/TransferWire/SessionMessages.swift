/// The body of `PUT /v1/sessions/{identifier}`; without one, the defaults hold.
package struct SessionRequest: Decodable, Sendable {
    package let configuration: SessionConfigurationRequest?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        configuration = try container.decodeIfPresent(
            SessionConfigurationRequest.self,
            forKey: .configuration
        )
    }

    private enum CodingKeys: CodingKey {
        case configuration
    }
}

/// The configuration a client asks for; what is absent gets its default.
package struct SessionConfigurationRequest: Decodable, Sendable {
    /// Seconds without a byte.
    package let timeoutForRequest: Double?
    /// Seconds for one attempt as a whole.
    package let timeoutForResource: Double?
    package let additionalHeaders: [String: String]?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: ConfigurationKey.self)
        timeoutForRequest = try container.decodeIfPresent(Double.self, forKey: .timeoutForRequest)
        timeoutForResource = try container.decodeIfPresent(
            Double.self,
            forKey: .timeoutForResource
        )
        additionalHeaders = try container.decodeIfPresent(
            [String: String].self,
            forKey: .additionalHeaders
        )
    }
}

private enum ConfigurationKey: String, CodingKey {
    case timeoutForRequest = "timeout_for_request"
    case timeoutForResource = "timeout_for_resource"
    case additionalHeaders = "additional_headers"
}

/// A session as clients see it.
package struct SessionDocument: Codable, Sendable {
    package let identifier: String
    package let configuration: Configuration
    package let generation: Int64
    package let outstanding: Int64
    package let completed: Int64
    package let failed: Int64
    package let cancelled: Int64
    package let lastEventSequence: Int64
    package let createdAt: Timestamp

    package init(
        identifier: String,
        configuration: Configuration,
        generation: Int64,
        outstanding: Int64,
        completed: Int64,
        failed: Int64,
        cancelled: Int64,
        lastEventSequence: Int64,
        createdAt: Timestamp
    ) {
        self.identifier = identifier
        self.configuration = configuration
        self.generation = generation
        self.outstanding = outstanding
        self.completed = completed
        self.failed = failed
        self.cancelled = cancelled
        self.lastEventSequence = lastEventSequence
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case identifier, configuration, generation, outstanding, completed, failed, cancelled
        case lastEventSequence = "last_event_sequence"
        case createdAt = "created_at"
    }

    /// The configuration in force.
    package struct Configuration: Codable, Sendable {
        /// Seconds.
        package let timeoutForRequest: Double
        /// Seconds.
        package let timeoutForResource: Double
        package let additionalHeaders: [String: String]

        package init(
            timeoutForRequest: Double,
            timeoutForResource: Double,
            additionalHeaders: [String: String]
        ) {
            self.timeoutForRequest = timeoutForRequest
            self.timeoutForResource = timeoutForResource
            self.additionalHeaders = additionalHeaders
        }

        private typealias CodingKeys = ConfigurationKey
    }
}

/// The members of a session's configuration in requests.
enum ConfigurationKey: String, CodingKey {
    case additionalHeaders = "additional_headers"
    case totalBytesPerSecondMax = "total_bytes_per_second_max"
    case sharedContainerIdentifier = "shared_container_identifier"
    case resultRetention = "result_retention"
    case maxConnectionsPerHost = "max_connections_per_host"
    case isDiscretionary = "is_discretionary"
}

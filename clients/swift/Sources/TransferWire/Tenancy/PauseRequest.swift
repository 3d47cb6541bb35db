/// A request to pause or resume what the tenant's tasks do.
public struct PauseRequest: Codable, Sendable {
    /// The host and port, as `files.example:443`; nil for all hosts.
    public let host: String?
    /// Whether running tasks are given back to the queue; nil for false.
    public let givesBack: Bool?

    /// Creates the value from its parts.
    public init(host: String? = nil, givesBack: Bool? = nil) {
        self.host = host
        self.givesBack = givesBack
    }

    private enum CodingKeys: String, CodingKey {
        case host
        case givesBack = "gives_back"
    }
}

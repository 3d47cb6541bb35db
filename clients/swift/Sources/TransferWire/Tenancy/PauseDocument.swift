/// A pause: nothing of the tenant, or nothing at a host, begins.
public struct PauseDocument: Codable, Sendable {
    /// The host and port; nil if all hosts are paused.
    public let host: String?
    /// The author: `operator`, or `tenant`, which can end its own pauses.
    public let pausedBy: String
    /// Whether running tasks were given back to the queue.
    public let givesBack: Bool
    /// The time since which nothing begins.
    public let pausedAt: Timestamp

    /// Creates the value from its parts.
    public init(host: String?, pausedBy: String, givesBack: Bool, pausedAt: Timestamp) {
        self.host = host
        self.pausedBy = pausedBy
        self.givesBack = givesBack
        self.pausedAt = pausedAt
    }

    private enum CodingKeys: String, CodingKey {
        case host
        case pausedBy = "paused_by"
        case givesBack = "gives_back"
        case pausedAt = "paused_at"
    }
}

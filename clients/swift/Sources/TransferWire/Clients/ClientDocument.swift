/// A client as it sees itself.
public struct ClientDocument: Codable, Sendable {
    /// The name of the client.
    public let identifier: String
    /// The identifier of the log of its own events, as in their positions.
    public let id: String
    /// The kind: `app` or `extension`.
    public let kind: String
    /// The state of life, such as `active` or `suspended`.
    public let lifecycle: String
    /// The time of the last change of ``lifecycle``.
    public let lifecycleChangedAt: Timestamp
    /// The number of its newest own event; 0 before the first.
    public let lastEventSequence: Int64
    /// The time at which the client was created.
    public let createdAt: Timestamp
    /// Since when the client is being removed with all it owns; absent for all others.
    public let removedAt: Timestamp?

    /// Creates the value from its parts.
    public init(
        identifier: String,
        id: String,
        kind: String,
        lifecycle: String,
        lifecycleChangedAt: Timestamp,
        lastEventSequence: Int64,
        createdAt: Timestamp,
        removedAt: Timestamp? = nil
    ) {
        self.identifier = identifier
        self.id = id
        self.kind = kind
        self.lifecycle = lifecycle
        self.lifecycleChangedAt = lifecycleChangedAt
        self.lastEventSequence = lastEventSequence
        self.createdAt = createdAt
        self.removedAt = removedAt
    }

    private enum CodingKeys: String, CodingKey {
        case identifier, id, kind, lifecycle
        case lifecycleChangedAt = "lifecycle_changed_at"
        case lastEventSequence = "last_event_sequence"
        case createdAt = "created_at"
        case removedAt = "removed_at"
    }
}

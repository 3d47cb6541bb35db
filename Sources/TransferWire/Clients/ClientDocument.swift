/// A client as it sees itself.
package struct ClientDocument: Codable, Sendable {
    /// The name of the client.
    package let identifier: String
    /// The kind: `app` or `extension`.
    package let kind: String
    package let lifecycle: String
    /// The time of the last change of ``lifecycle``.
    package let lifecycleChangedAt: Timestamp
    /// The time at which the client was created.
    package let createdAt: Timestamp

    package init(
        identifier: String,
        kind: String,
        lifecycle: String,
        lifecycleChangedAt: Timestamp,
        createdAt: Timestamp
    ) {
        self.identifier = identifier
        self.kind = kind
        self.lifecycle = lifecycle
        self.lifecycleChangedAt = lifecycleChangedAt
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case identifier, kind, lifecycle
        case lifecycleChangedAt = "lifecycle_changed_at"
        case createdAt = "created_at"
    }
}

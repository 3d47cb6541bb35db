/// A renewed lease.
public struct LeaseDocument: Codable, Sendable {
    /// The token of the lease.
    public let leaseToken: String
    /// The end of the lease; absent for a permanent one.
    public let leaseExpiresAt: Timestamp?
    /// The number of tasks that the lease still holds.
    public let tasks: Int

    /// Creates the value from its parts.
    public init(leaseToken: String, leaseExpiresAt: Timestamp?, tasks: Int) {
        self.leaseToken = leaseToken
        self.leaseExpiresAt = leaseExpiresAt
        self.tasks = tasks
    }

    private enum CodingKeys: String, CodingKey {
        case tasks
        case leaseToken = "lease_token"
        case leaseExpiresAt = "lease_expires_at"
    }
}

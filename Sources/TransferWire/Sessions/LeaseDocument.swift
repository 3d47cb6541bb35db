/// A lease that was renewed.
package struct LeaseDocument: Codable, Sendable {
    package let leaseToken: String
    /// Absent for good.
    package let leaseExpiresAt: Timestamp?
    /// How many it still holds.
    package let tasks: Int

    package init(leaseToken: String, leaseExpiresAt: Timestamp?, tasks: Int) {
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

/// The body of `PATCH /v1/leases/{id}`.
public struct LeaseRequest: Codable, Sendable {
    /// The seconds of the lease: null is permanent, absent is the default.
    public let leaseSeconds: Int64??

    /// Creates a request; what is nil is absent.
    public init(leaseSeconds: Int64?? = nil) { self.leaseSeconds = leaseSeconds }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        leaseSeconds = try container.decodeIfNamed(Int64.self, forKey: .leaseSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case leaseSeconds = "lease_seconds"
    }
}

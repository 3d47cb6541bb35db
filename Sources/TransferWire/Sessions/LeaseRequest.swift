/// The body of `PATCH /v1/leases/{id}`.
package struct LeaseRequest: Decodable, Sendable {
    /// The seconds of the lease: null is permanent, absent is the default.
    package let leaseSeconds: Int64??

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        leaseSeconds = try container.decodeIfNamed(Int64.self, forKey: .leaseSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case leaseSeconds = "lease_seconds"
    }
}

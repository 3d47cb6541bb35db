package import TransferModel

/// A worker's question about the limits of its attempts.
package struct RateQuery: Sendable {
    /// The version of the oldest reading among the limits of its attempts; nil when it runs none.
    package var version: Int64?
    /// The owners of the limits that its attempts share.
    package var owners: [RateOwner]

    package init(version: Int64? = nil, owners: [RateOwner] = []) {
        self.version = version
        self.owners = owners
    }
}

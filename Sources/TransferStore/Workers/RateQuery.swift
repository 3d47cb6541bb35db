package import TransferModel

/// What a worker asks about the limits of its attempts.
package struct RateQuery: Sendable {
    /// The oldest reading that one of its attempts' limits are of; nil when it runs nothing.
    package var version: Int64?
    /// Whose limits its attempts share.
    package var owners: [RateOwner]

    package init(version: Int64? = nil, owners: [RateOwner] = []) {
        self.version = version
        self.owners = owners
    }
}

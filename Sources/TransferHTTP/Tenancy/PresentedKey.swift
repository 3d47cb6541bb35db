/// A key that a request carries, without its secret.
struct PresentedKey: Hashable, Sendable {
    let id: String
    let secretSHA256: [UInt8]

    init(_ key: APIKey) {
        id = key.id
        secretSHA256 = key.secretSHA256
    }

    /// The digest that the secret of a key unknown to the service is compared with.
    private static let noDigest = [UInt8](repeating: 0, count: 32)

    /// Returns whether the secret has the digest `stored`; nil for a key that there is none of,
    /// which takes as long.
    func isProof(of stored: [UInt8]?) -> Bool {
        let isEqual = Self.isEqual(stored ?? Self.noDigest, secretSHA256)
        return isEqual && stored != nil
    }

    /// Compares bytes in a time that does not reveal where the first difference is.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }
}

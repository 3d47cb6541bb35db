import TransferModel

/// A sealed block of the audit log, by which a copy kept elsewhere can be compared with the log.
package struct AuditBlock: Sendable, Equatable {
    /// The number of the block, from 1.
    package let number: Int64
    /// The digest of the block, its entries and all blocks before it.
    package let sha256: [UInt8]

    package init(number: Int64, sha256: [UInt8]) {
        self.number = number
        self.sha256 = sha256
    }

    /// Reads a block as ``description`` writes it; nil if `text` has another form.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(parts[0]), number > 0,
            let digest = Checksum(.sha256, hex: String(parts[1]))
        else { return nil }
        self.init(number: number, sha256: digest.bytes)
    }
}

extension AuditBlock: CustomStringConvertible {
    /// The number and the digest, as `7:0123…`.
    package var description: String {
        // What the database holds has that length by a constraint.
        "\(number):\(Checksum(.sha256, bytes: sha256)?.description ?? "")"
    }
}

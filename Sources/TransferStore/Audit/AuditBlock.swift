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
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(String(Substring(parts[0]))), number > 0,
            parts[1].count == 64
        else { return nil }
        var bytes: [UInt8] = []
        var digits = parts[1]
        while !digits.isEmpty {
            guard let byte = UInt8(String(Substring(digits.prefix(2))), radix: 16) else {
                return nil
            }
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        self.init(number: number, sha256: bytes)
    }
}

extension AuditBlock: CustomStringConvertible {
    /// The number and the digest, as `7:0123…`.
    package var description: String {
        let digits = sha256.map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "\(number):\(digits.joined())"
    }
}

/// The value that an algorithm computes from a file's bytes.
package struct Checksum: Hashable, Sendable, CustomStringConvertible {
    package let algorithm: ChecksumAlgorithm
    /// The bytes in the order of the hexadecimal form; a CRC-32C has its highest byte first
    /// (RFC 9530, appendix D).
    package let bytes: [UInt8]

    /// Creates a checksum; nil unless `bytes` has the algorithm's length.
    package init?(_ algorithm: ChecksumAlgorithm, bytes: some Collection<UInt8>) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = Array(bytes)
    }

    /// Reads hexadecimal digits of either case; nil for any other byte or length.
    package init?(_ algorithm: ChecksumAlgorithm, hex: String) {
        guard hex.utf8.count == 2 * algorithm.byteCount else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(algorithm.byteCount)
        var high: UInt8?
        for digit in hex.utf8 {
            guard let value = Self.value(ofDigit: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// The checksum in lower-case hexadecimal, without the algorithm.
    package var description: String { bytes.hexadecimal }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}

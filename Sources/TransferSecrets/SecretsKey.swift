import Crypto
import Foundation
import TransferModel

/// A key that seals secrets, identified by the start of its digest.
package struct SecretsKey: Sendable {
    /// The length of a key in bytes.
    package static let byteCount = 32

    /// The name stored with sealed values; it reveals nothing about the key.
    let name: [UInt8]
    let key: SymmetricKey

    /// Reads 64 hexadecimal digits.
    package init?(hex: some StringProtocol) {
        let digits = Array(hex.utf8)
        // What reads a pair as a number also takes a sign.
        guard digits.count == 2 * Self.byteCount,
            digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit })
        else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index...index + 1], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        key = SymmetricKey(data: bytes)
        name = Array(SHA256.hash(data: bytes).prefix(4))
    }

    /// Reads the keys in a file, one per line: the first one seals, the others only open.
    ///
    /// - Returns: nil when there is none, or a line is no key.
    package static func keys(in text: String) -> [SecretsKey]? {
        let lines = text.split(whereSeparator: \.isNewline)
        let keys = lines.compactMap { SecretsKey(hex: $0) }
        return keys.isEmpty || keys.count < lines.count ? nil : keys
    }

    /// Returns a new key in the form that ``init(hex:)`` reads, from the system's random source.
    package static func random() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { $0.hexadecimal }
    }
}
